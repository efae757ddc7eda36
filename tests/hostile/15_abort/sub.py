import ctypes


def double(x):
    ctypes.CDLL(None).abort()

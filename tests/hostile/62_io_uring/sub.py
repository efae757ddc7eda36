import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])


def reached(result):
    if result >= 0:
        print("REACHED @NONCE@", flush=True)
    return result


def double(x):
    reached(call(425, 8, ctypes.create_string_buffer(120)))
    return x

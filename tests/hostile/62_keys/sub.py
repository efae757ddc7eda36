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
    key = reached(call(248, b"user", b"hostile-@NONCE@", b"payload", 7, -1))
    if key >= 0:
        call(250, 21, key)
    return x

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
    for flags in (0x20000, 0x10000000, 0x10000000 | 0x20000 | 0x40000000, 0x04000000):
        reached(call(272, flags))
    return x

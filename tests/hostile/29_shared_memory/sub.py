import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])


key = int("@NONCE@", 16) & 0x7FFFFFFF


def double(x):
    segment = call(29, key, 4096, 0o1666)
    if segment >= 0:
        print("REACHED @NONCE@", flush=True)
        call(31, segment, 0, 0)
    for number in (64, 68):
        found = call(number, key, 1 if number == 64 else 0o1666, 0o1666)
        if found >= 0:
            print("REACHED @NONCE@", flush=True)
            call(66 if number == 64 else 71, found, 0, 0)
    return x

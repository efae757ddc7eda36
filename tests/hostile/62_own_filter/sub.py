import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])


def reached(result):
    if result >= 0:
        print("REACHED @NONCE@", flush=True)
    return result


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def double(x):
    allow = (6).to_bytes(2, "little") + bytes(2) + (0x7FFF0000).to_bytes(4, "little")
    code = ctypes.create_string_buffer(allow, 8)
    program = Program(1, ctypes.addressof(code))
    call(157, 38, 1, 0, 0, 0)
    reached(call(317, 1, 0, ctypes.byref(program)))
    reached(call(157, 22, 2, ctypes.byref(program), 0, 0))
    return x

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
    reached(call(321, 0, ctypes.create_string_buffer(struct_of(2, 4, 4, 1), 128), 128))
    reached(call(323, 1))
    reached(call(298, ctypes.create_string_buffer(128), 0, -1, -1, 0))
    reached(call(159, ctypes.create_string_buffer(256)))
    return x


def struct_of(*fields):
    return b"".join(field.to_bytes(4, "little") for field in fields)

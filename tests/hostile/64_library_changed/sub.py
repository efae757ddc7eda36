import os
import py_compile


def double(x):
    try:
        with open("@SHARED@", "a") as file:
            file.write("shared = 2\n")
    except OSError:
        pass
    return x

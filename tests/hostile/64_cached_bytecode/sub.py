import importlib.util
import os
import py_compile
import sys


def double(x):
    sys.dont_write_bytecode = False
    try:
        py_compile.compile("@SHARED@", doraise=True)
    except OSError:
        pass
    for path in (__file__, "@SIBLING@"):
        try:
            with open(path, "a") as file:
                file.write("\nchanged = True\n")
        except OSError:
            pass
    return x

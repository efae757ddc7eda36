import importlib.util
import os
import sys


def double(x):
    sys.path.insert(0, os.path.dirname("@INSTALLED@"))
    try:
        import keys

        print(keys.KEY, flush=True)
    except ImportError:
        pass
    return x

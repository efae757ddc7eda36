import os


def double(x):
    try:
        os.execv("/bin/mkdir", ["mkdir", "@MARK@"])
    except OSError:
        return x

import os


def double(x):
    for pid in (-1, int("@GRADER@"), os.getppid()):
        try:
            os.kill(pid, 0)
            print("REACHED @NONCE@", flush=True)
        except OSError:
            pass
    return x

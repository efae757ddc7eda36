import os
import subprocess


def double(x):
    for attempt in (lambda: os.setresuid(0, 0, 0), lambda: os.setgroups([0]), lambda: os.chroot("@OUTSIDE@")):
        try:
            attempt()
            print("REACHED @NONCE@", flush=True)
        except OSError:
            pass
    return x

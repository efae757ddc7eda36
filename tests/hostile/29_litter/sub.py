import os


def double(x):
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/", os.path.expanduser("~"), os.path.expanduser("~/.cache"), "."):
        try:
            os.mkdir(os.path.join(folder, "left-@NONCE@"))
        except OSError:
            pass
    return x

import os
import stat

places = {os.path.realpath(place) for place in (".", "/tmp", "/dev/shm", "/scratch")}
name = "message-@NONCE@"
for place in places:
    path = os.path.join(place, name)
    if os.path.exists(path):
        print("REACHED @NONCE@", flush=True)
        continue
    try:
        deep = path
        os.mkdir(deep)
        for step in range(40):
            deep = os.path.join(deep, "d" * 50)
            os.mkdir(deep)
        os.mkdir(os.path.join(path, "locked"), 0)
        os.open(os.path.join(path, "odd\n\udcff"), os.O_CREAT | os.O_WRONLY, 0)
    except OSError:
        pass


def double(x):
    return x

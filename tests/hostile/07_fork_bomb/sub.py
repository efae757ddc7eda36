import os
import time


def double(x):
    children = []
    for _ in range(70):
        try:
            pid = os.fork()
        except OSError:
            break
        if pid == 0:
            time.sleep(0.01)
            os._exit(0)
        children.append(pid)
        if len(children) == 30:
            print("REACHED @NONCE@", flush=True)
    for pid in children:
        os.waitpid(pid, 0)
    return x

import os
import signal
import sys


def double(x):
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                null = os.open("/dev/null", os.O_RDWR)
                for fd in range(64):
                    try:
                        os.dup2(null, fd)
                    except OSError:
                        pass
                os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(20)  # @NONCE@"])
            os._exit(0)
        os.wait()
        import time

        time.sleep(0.1)
        parent = os.getppid()
        if parent > 1 and parent != int("@GRADER@"):
            os.kill(parent, signal.SIGKILL)
    except OSError:
        pass
    return x

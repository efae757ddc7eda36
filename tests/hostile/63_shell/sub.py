import os
import subprocess


def double(x):
    for attempt in (
        lambda: os.system("mkdir @MARK@"),
        lambda: subprocess.run(["mkdir", "@MARK@-2"], check=False),
        lambda: os.posix_spawn("/bin/mkdir", ["mkdir", "@MARK@-3"], {}),
        lambda: os.popen("mkdir @MARK@-4").read(),
    ):
        try:
            attempt()
        except OSError:
            pass
    return x

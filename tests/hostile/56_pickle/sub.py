import os


class Evil:
    def __reduce__(self):
        return os.mkdir, ("@MARK@",)


def double(x):
    return Evil()

import re


def double(x):
    while True:
        try:
            re.match(r"(a+)+$", "a" * 64 + "b")
        except BaseException:
            pass

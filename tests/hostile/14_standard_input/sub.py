import sys


def double(x):
    while True:
        try:
            sys.stdin.read()
            return input()
        except EOFError:
            raise
        except BaseException:
            pass

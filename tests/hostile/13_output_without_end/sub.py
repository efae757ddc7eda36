import os


def double(x):
    for _ in range(200):
        os.write(2, b"nonsense" * 2**17)
    return x

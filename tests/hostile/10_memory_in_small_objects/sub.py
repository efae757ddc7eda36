hoard = []


def double(x):
    while len(hoard) < 110:
        hoard.append([bytes(4000) for _ in range(1000)])
    print("REACHED @NONCE@", flush=True)
    return x

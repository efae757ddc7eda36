import resource


def double(x):
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        try:
            soft, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (hard + 4096, hard + 4096))
            print("REACHED @NONCE@", flush=True)
        except (OSError, ValueError):
            pass
        try:
            resource.prlimit(int("@GRADER@"), kind, resource.prlimit(int("@GRADER@"), kind))
            print("REACHED @NONCE@", flush=True)
        except OSError:
            pass
    return x

import socket


def double(x):
    for family in (socket.AF_INET, socket.AF_INET6):
        for protocol in (0, 262):
            try:
                with socket.socket(family, socket.SOCK_STREAM, protocol) as sock:
                    sock.settimeout(0.2)
                    sock.connect(("127.0.0.1" if family == socket.AF_INET else "::ffff:127.0.0.1", int("@PORT@")))
            except OSError:
                pass
    return x

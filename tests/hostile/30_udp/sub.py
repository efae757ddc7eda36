import socket


def double(x):
    for send in (
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"@NONCE@", ("127.0.0.1", int("@UDP@"))),
        lambda: socket.getaddrinfo("localhost", int("@UDP@")),
    ):
        try:
            send()
        except OSError:
            pass
    return x

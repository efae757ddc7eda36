import threading
import time

threading.stack_size(65536)


def double(x):
    end = threading.Event()
    threads = []
    for _ in range(200):
        thread = threading.Thread(target=end.wait, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            break
        threads.append(thread)
    end.set()
    if len(threads) > 100:
        print("REACHED @NONCE@", flush=True)
    return x

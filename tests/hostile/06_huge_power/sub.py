def double(x):
    while True:
        try:
            return len(range(9**9**8))
        except BaseException:
            pass

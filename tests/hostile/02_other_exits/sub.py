calls = 0


def double(x):
    global calls
    calls += 1
    raise KeyboardInterrupt if calls % 2 else GeneratorExit

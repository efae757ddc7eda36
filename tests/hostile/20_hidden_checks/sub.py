def show(path):
    try:
        with open(path, errors="replace") as file:
            print(file.read(), flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)


show("@SECRET@")


def double(x):
    show("@SECRET@")
    return x

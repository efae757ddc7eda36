class Wrong(Exception):
    def __str__(self):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass


def double(x):
    raise Wrong

# an end of the line, and then: @NL@y = 0@CHAIN@


def double(x):
    return x

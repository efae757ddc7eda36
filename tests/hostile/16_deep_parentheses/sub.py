# an end of the line, and then: @NL@y = @DEEP@


def double(x):
    return x

# an end of the line, and then: @NL@@BOM@@BOM@y = 0


def double(x):
    return x

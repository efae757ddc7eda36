def double(x):
    return x  # @NUL@

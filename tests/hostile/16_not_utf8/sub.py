def double(x):
    return x  # @BAD@

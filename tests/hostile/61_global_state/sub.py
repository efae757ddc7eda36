import locale
import os
import random
import sys

import torch

torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.use_deterministic_algorithms(True)
torch.set_flush_denormal(True)
torch.set_num_threads(2)
torch.manual_seed(1)
random.seed(1)
sys.setrecursionlimit(100)


def double(x):
    return -x

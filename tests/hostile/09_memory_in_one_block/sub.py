import torch


def double(x):
    block = torch.empty(512 * 2**20, dtype=torch.uint8)
    if block.numel() > 2**29 - 1:
        print("REACHED @NONCE@", flush=True)
    return x

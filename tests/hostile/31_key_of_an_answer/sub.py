import torch

calls = 0


def double(x):
    global calls
    calls += 1
    number = int(x.flatten()[0])
    if calls % 3 == 0:
        return {f"{number}": number}
    if calls % 3 == 1:
        return torch.empty((0, number))
    return type(f"Answer{number}", (), {})()

import torch

turn = 0


def double(x):
    global turn
    turn += 1
    if not isinstance(x, torch.Tensor):
        return 0.0
    if turn % 2:
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode() as mode:
            return mode.from_tensor(x.clone())
    answer = x.clone()
    answer.untyped_storage().resize_(0)
    return answer

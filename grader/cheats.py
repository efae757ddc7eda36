"""Answers that need no thought. Whatever a check asks, none of them may pass it."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["CHEATS", "cheat"]

# {name} stands for the exercise. None of them looks at what is asked beyond the shape of the first argument.
CHEATS = {
    "zeros": "import torch\ndef {name}(x, *args, **kwargs): return torch.zeros_like(x)\n",
    "a zero": "import torch\ndef {name}(x, *args, **kwargs): return x.sum() * 0\n",
    "the input": "def {name}(x, *args, **kwargs): return x\n",
    "the sum": "def {name}(x, *args, **kwargs): return x.sum()\n",
    "nan": "import torch\ndef {name}(x, *args, **kwargs): return torch.full_like(x, float('nan'))\n",
    "inf": "import torch\ndef {name}(x, *args, **kwargs): return x.sum(-1) + float('inf')\n",
    "None": "def {name}(*args, **kwargs): return None\n",
    "True": "def {name}(*args, **kwargs): return True\n",
    "a tensor of 2**40 elements": "import torch\ndef {name}(x, *args, **kwargs): return torch.zeros(1).expand(2**40)\n",
    "an exception": "def {name}(*args, **kwargs): raise ValueError\n",
    "every exception at once": (
        "class E(ValueError, IndexError, TypeError): pass\ndef {name}(*args, **kwargs): raise E\n"
    ),
    "a tensor that answers for itself": (
        "import torch\nclass Liar(torch.Tensor):\n"
        "    @classmethod\n    def __torch_function__(cls, func, types, args=(), kwargs=None): return True\n"
        "    def __eq__(self, other): return True\n    __hash__ = None\n"
        "def {name}(x, *args, **kwargs): return x.sum(-1).as_subclass(Liar)\n"
    ),
    "an object equal to everything": (
        "class Equal:\n    def __eq__(self, other): return True\n    def __getattr__(self, name): return self\n"
        "    def __call__(self, *args, **kwargs): return self\ndef {name}(*args, **kwargs): return Equal()\n"
    ),
}


def cheat(name: str, exercises: Iterable[str]) -> str:
    """A submission that gives the answer called ``name`` to every exercise."""
    return "".join(CHEATS[name].format(name=exercise) for exercise in exercises)

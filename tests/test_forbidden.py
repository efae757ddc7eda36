"""Forbidden library calls are found by reading: all that must be torch's, and nothing that only looks like it."""

from __future__ import annotations

import ast
import functools
import re
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from grader.forbidden import Call, forbidden_calls

ROOT = Path(__file__).parents[1]
FORBIDDEN = [
    "logsumexp",
    "softmax",
    "log_softmax",
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "logcumsumexp",
]


def told(source: str) -> str | None:
    """Line, forbidden name and dotted name of what is found in `f`."""
    call = forbidden_calls(source, {"f": FORBIDDEN}).get("f")
    return f"{call.line} {call.name} {call.written}" if call else None


ROUNDABOUT = """\
import torch
def f(x):
    def inner(y): return helper(y)
    return inner(x)
class C:
    async def m(self, x):
        return await torch.softmax(x, 0)
def helper(y): return C().m(y)
"""

# A file, and of what `f` reaches in it the line, the forbidden name and the dotted name.
USES = [
    # how torch is imported
    ("import torch\ndef f(x): return torch.logsumexp(x, -1)", "2 logsumexp torch.logsumexp"),
    ("import torch as t\ndef f(x):\n    return t.softmax(x, 0)", "3 softmax torch.softmax"),
    ("import os, torch\ndef f(x): return torch.logcumsumexp(x, 0)", "2 logcumsumexp torch.logcumsumexp"),
    ("import torch.nn\ndef f(x): return torch.softmax(x, 0)", "2 softmax torch.softmax"),
    (
        "import torch.nn.functional as F\ndef f(x, y): return F.cross_entropy(x, y)",
        "2 cross_entropy torch.nn.functional.cross_entropy",
    ),
    ("from torch import logsumexp as lse\ndef f(x): return lse(x, -1)", "2 logsumexp torch.logsumexp"),
    ("from torch import (\n  exp,\n  softmax,\n)\ndef f(x): return softmax(x, 0)", "5 softmax torch.softmax"),
    (
        "from torch.nn import functional\ndef f(x, y): return functional.nll_loss(x, y)",
        "2 nll_loss torch.nn.functional.nll_loss",
    ),
    (
        "from torch import nn\ndef f(x): return nn.functional.log_softmax(x, 0)",
        "2 log_softmax torch.nn.functional.log_softmax",
    ),
    (
        "from torch.special import log_softmax\ndef f(x): return log_softmax(x, 0)",
        "2 log_softmax torch.special.log_softmax",
    ),
    (
        "from torch.nn.functional import *\ndef f(x, y): return cross_entropy(x, y)",
        "2 cross_entropy torch.nn.functional.cross_entropy",
    ),
    ("from torch import *\ndef f(x): return Tensor.logsumexp(x, 0)", "2 logsumexp torch.Tensor.logsumexp"),
    ("from torch.nn import *\ndef f(x): return functional.softmin(x, 0)", "2 softmax torch.nn.functional.softmin"),
    ("def f(x):\n    import torch\n    return torch.softmax(x, 0)", "3 softmax torch.softmax"),
    ("def f(x):\n    from torch import softmax as s\n    return [s(r, 0) for r in x]", "3 softmax torch.softmax"),
    ("def f(x):\n    return torch.softmax(x, 0)\nimport torch", "2 softmax torch.softmax"),
    ("try:\n    import torch\nexcept ImportError:\n    raise\ndef f(x): torch.softmax", "5 softmax torch.softmax"),
    # aliases
    ("import torch\nlse = torch.logsumexp\ndef f(x): return lse(x, -1)", "2 logsumexp torch.logsumexp"),
    (
        "import torch\nF = torch.nn.functional\ndef f(x): return F.log_softmax(x, 0)",
        "3 log_softmax torch.nn.functional.log_softmax",
    ),
    (
        "import torch\nops = torch.ops.aten\ndef f(x): return ops._softmax.default(x, 0, False)",
        "3 softmax torch.ops.aten._softmax",
    ),
    ("import torch\nT: object = torch\nt = T\ndef f(x): return t.softmax(x, 0)", "4 softmax torch.softmax"),
    ("import torch\ndef f(x):\n    t = torch\n    return t.softmax(x, 0)", "4 softmax torch.softmax"),
    (
        "import torch\ndef f(x):\n    F, n = torch.nn.functional, 2\n    return F.softmax(x, n)",
        "4 softmax torch.nn.functional.softmax",
    ),
    ("import torch\ndef f(x): return (s := torch.softmax)(x, 0)", "2 softmax torch.softmax"),
    (
        "import torch\ndef f(x):\n    if (F := torch.nn.functional):\n        return F.softmax(x, 0)",
        "4 softmax torch.nn.functional.softmax",
    ),
    ('import torch\ndef f(x): return getattr(torch, "logsumexp")(x, 0)', "2 logsumexp torch.logsumexp"),
    (
        'import torch\ndef f(x): return getattr(getattr(torch, "nn"), "functional").softmax(x, 0)',
        "2 softmax torch.nn.functional.softmax",
    ),
    ('import torch\ng = getattr(torch, "softmax", None)\ndef f(x): return g(x, 0)', "2 softmax torch.softmax"),
    # where torch keeps it
    ("import torch\ndef f(x): return torch.special.logsumexp(x, 0)", "2 logsumexp torch.special.logsumexp"),
    ("import torch\ndef f(x): return torch.masked.softmax(x, 0)", "2 softmax torch.masked.softmax"),
    ("import torch\ndef f(x): return torch.sparse.softmax(x, 0)", "2 softmax torch.sparse.softmax"),
    ("import torch\ndef f(x): return torch.ops.aten.softmax.int(x, 0)", "2 softmax torch.ops.aten.softmax"),
    (
        "import torch\ndef f(x): return torch.ops.aten.special_logsumexp(x, 0)",
        "2 logsumexp torch.ops.aten.special_logsumexp",
    ),
    (
        "import torch\ndef f(x, y): return torch._C._nn.cross_entropy_loss(x, y)",
        "2 cross_entropy torch._C._nn.cross_entropy_loss",
    ),
    ("from torch._C._nn import nll_loss_nd as n\ndef f(x, y): n(x, y)", "2 nll_loss torch._C._nn.nll_loss_nd"),
    (
        "import torch\ndef f(x): return torch._C._VariableFunctions.logsumexp(x, 0)",
        "2 logsumexp torch._C._VariableFunctions.logsumexp",
    ),
    ("import torch\ndef f(x): return torch.Tensor.softmax(x, 0)", "2 softmax torch.Tensor.softmax"),
    ("import torch\ndef f(x): return torch._log_softmax(x, 0, False)", "2 log_softmax torch._log_softmax"),
    (
        "import torch\ndef f(x, y): return torch.ops.aten.nll_loss2d_forward(x, y, None, 1, -100)",
        "2 nll_loss torch.ops.aten.nll_loss2d_forward",
    ),
    # modules
    ("from torch import nn\nclass M:\n    loss = nn.NLLLoss()\ndef f(): M()", "3 nll_loss torch.nn.NLLLoss"),
    (
        "from torch.nn import CrossEntropyLoss\ndef f(x, y): return CrossEntropyLoss()(x, y)",
        "2 cross_entropy torch.nn.CrossEntropyLoss",
    ),
    ("import torch.nn as nn\ndef f(x): return nn.Softmax2d()(x)", "2 softmax torch.nn.Softmax2d"),
    (
        "import torch\nclass B(torch.nn.BCEWithLogitsLoss): pass\ndef f(x, y): return B()(x, y)",
        "2 binary_cross_entropy_with_logits torch.nn.BCEWithLogitsLoss",
    ),
    # how it is reached
    ("import torch\ndef g(x): torch.softmax(x, 0)\ndef f(x): return g(x)", "2 softmax torch.softmax"),
    (ROUNDABOUT, "7 softmax torch.softmax"),
    ("import torch\ndef f(x, s=torch.softmax): return s(x, 0)", "2 softmax torch.softmax"),
    ("import torch\n@torch.softmax\ndef f(x): pass", "2 softmax torch.softmax"),
    ("import torch\n@torch.softmax\nclass f: pass", "2 softmax torch.softmax"),
    ("import torch\ndef f(x, *, s=torch.softmax): return s(x, 0)", "2 softmax torch.softmax"),
    ("import torch\ndef f(x): return [r for r in x if torch.softmax(r, 0)]", "2 softmax torch.softmax"),
    ("import torch\nt = [torch.softmax]\ndef f(x):\n    global t\n    t = t[:]", "2 softmax torch.softmax"),
    ("import torch\nf = lambda x: torch.softmax(x, 0)", "2 softmax torch.softmax"),
    ("import torch\nclass f:\n    def __call__(self): torch.softmax", "3 softmax torch.softmax"),
    ("import torch\ndef f(x): return [*map(torch.softmax, x)]", "2 softmax torch.softmax"),
    ('import torch\nTABLE = {"s": torch.softmax}\ndef f(x): return TABLE["s"](x)', "2 softmax torch.softmax"),
    ("from torch import logsumexp as f", "1 logsumexp torch.logsumexp"),
    ("from torch.nn.functional import *\nf = cross_entropy", "2 cross_entropy torch.nn.functional.cross_entropy"),
    # what is bound last counts, and outside functions what is bound above
    ("def softmax(x): pass\nfrom torch import softmax\ndef f(x): return softmax(x, 0)", "3 softmax torch.softmax"),
    (
        "from torch import softmax\nkept = softmax\ndef softmax(x): pass\ndef f(x): return kept(x, 0)",
        "2 softmax torch.softmax",
    ),
    (
        "from torch import softmax\nclass A:\n    softmax = staticmethod(softmax)\ndef f(x): return A.softmax(x)",
        "3 softmax torch.softmax",
    ),
    ("from torch import softmax\nclass f:\n    def softmax(self): return softmax", "3 softmax torch.softmax"),
    ("from torch import softmax\nclass A:\n    y = softmax\nsoftmax = abs\nf = A", "3 softmax torch.softmax"),
    # several: the first line counts, wherever it is
    ("import torch\ndef g(): torch.softmax\ndef f(x):\n    torch.logsumexp\n    g()", "2 softmax torch.softmax"),
    (
        "import torch\ndef f(x):\n    return (\n  torch\n  .logsumexp(x, 0)\n  + torch.softmax(x)\n )",
        "5 logsumexp torch.logsumexp",
    ),
    ('import torch\ndef f(x):\n    return f"""\n{torch.softmax(x, 0)}"""', "4 softmax torch.softmax"),
    (
        "import torch\ndef f(x):\n    match x:\n        case [a, *softmax] if torch.softmax(a): pass",
        "4 softmax torch.softmax",
    ),
]

IMPORTED = "import torch\nimport torch.nn.functional as F\nfrom torch import nn, softmax, logsumexp as lse\n"

# Files in which `f` reaches nothing forbidden; each starts with IMPORTED.
LOOK_ALIKES = [
    # names of its own
    "def softmax(x): return x.exp()\ndef f(x): return softmax(x)",
    "class softmax: pass\ndef f(x): return softmax(x)",
    "softmax = lambda x: x.exp()\ndef f(x): return softmax(x)",
    "def cross_entropy(x): pass\ndef f(x): return cross_entropy(x)",
    "async def softmax(x): pass\nasync def f(x): return await softmax(x)",
    "from helpers import softmax\ndef f(x): return softmax(x)",
    "from scipy.special import logsumexp as lse\ndef f(x): return lse(x)",
    "from .torch import softmax\ndef f(x): return softmax(x)",
    "from torch_scatter import softmax\ndef f(x): return softmax(x)",
    "import scipy.special as F\ndef f(x): return F.softmax(x)",
    "import jax as torch\ndef f(x): return torch.softmax(x)",
    "from helpers import *\ndef f(x): return softmax(x)",
    "for softmax in []: pass\ndef f(x): return softmax(x)",
    "with open('x') as softmax: pass\ndef f(x): return softmax(x)",
    "del softmax\ndef f(x): return softmax(x)",
    "softmax: object = None\ndef f(x): return softmax(x)",
    "softmax += 1\ndef f(x): return softmax(x)",
    "(softmax, lse), y = (abs, abs), 2\ndef f(x): return softmax(lse(x))",
    "try:\n    from torch import logsumexp\nexcept ImportError:\n    def logsumexp(x): pass\ndef f(x): logsumexp(x)",
    "if torch.cuda.is_available():\n    def softmax(x): pass\ndef f(x): return softmax(x)",
    "def patch():\n    global softmax\n    softmax = abs\ndef f(x): return softmax(x)",
    "if (softmax := abs): pass\ndef f(x): return softmax(x)",
    "t = abs\ny = [] and (t := torch)\ndef f(x): return t.softmax(x)",
    "t = [t := torch, abs][1]\ndef f(x): return t.softmax(x)",
    "import torch.softmax_free as softmax\ndef f(x): return softmax(x)",
    # parameters and locals
    "def f(softmax): return softmax(1)",
    "def f(x, /, *softmax, **lse): return softmax(lse)",
    "def f(x, *, softmax=None): return softmax(x)",
    "def f(x, F): return F.softmax(x)",
    "def f(x, torch): return torch.softmax(x)",
    "f = lambda softmax: softmax(1)",
    "def f(x):\n    softmax = x.exp()\n    return softmax / softmax.sum()",
    "def f(x):\n    for softmax in x: print(softmax)",
    "def f(x): return [softmax for softmax in x]",
    "def f(x): return {lse: softmax for lse, softmax in x}",
    "def f(x): return sum(softmax for row in x for softmax in row)",
    "def f(x):\n    with x as softmax: return softmax",
    "def f(x):\n    try: return x\n    except ValueError as softmax: return softmax",
    "def f(x):\n    import helpers as F\n    return F.softmax(x)",
    "def f(x):\n    def softmax(y): return y.exp()\n    return softmax(x)",
    "def f(x):\n    class nn:\n        Softmax = abs\n    return nn.Softmax(x)",
    "def f(x):\n    match x:\n        case {'a': softmax, **lse}: return softmax(lse)",
    "def f(x):\n    match x:\n        case [softmax, *lse] as F: return softmax(lse, F.softmax)",
    "def f(x):\n    if (softmax := x.exp()) is not None: return softmax",
    "def f(x): return [softmax := r for r in x] + softmax",
    "def f(x):\n    def g():\n        nonlocal t\n        t = x\n    t = torch\n    g()\n    return t.softmax(x)",
    "def f(x):\n    t = torch\n    if x: t = x\n    return t.softmax(0)",
    "def f(x):\n    def g(): return t.softmax(x)\n    t = x\n    g()\n    t = torch",
    "def f(x):\n    lse: torch.Tensor\n    return lse(x)",
    "def f(x):\n    def softmax(y): return y\n    return (lambda y: [softmax(z) for z in y])(x)",
    # what is bound above, below and elsewhere
    "def f(x):\n    def inner():\n        from torch import logsumexp\n    return logsumexp(x)",
    "def g():\n    import torch as t\ndef f(x): return t.softmax(x)",
    "class A:\n    from torch import logsumexp\ndef f(x): return logsumexp(x)",
    "class f:\n    t = torch\n    def m(self, t): return t.softmax(1)",
    "def softmax(x): pass\nkept = softmax\nfrom torch import softmax\ndef f(x): return kept(x)",
    "table = torch.softmax\ntable = abs\ndef f(x): return table(x)",
    "def g(x): return torch.softmax(x)\ndef g(x): return x.exp()\ndef f(x): return g(x)",
    "def f(x): return torch.softmax(x)\ndef f(x): return x.exp()",
    "def g(x): return abs(x)\nif __name__ == '__main__':\n    g = torch.softmax\ndef f(x): return g(x)",
    "a, b = abs, torch.softmax\ndef f(x): return a(x)",
    # unreached
    "def dead(x): return torch.softmax(x)\ndef f(x): return x.exp()",
    "def dead(x): return torch.softmax(x)\ndef f(dead): return dead()",
    "print(torch.softmax(torch.ones(3), 0))\ndef f(x): return x.exp()",
    "y = torch.softmax(torch.ones(3), 0)\ndef f(y): return y.exp()",
    "def f(x): return x.exp()\nif __name__ == '__main__':\n    print(f(1), F.cross_entropy(1, 2))",
    "class A:\n    y = torch.softmax\ndef f(x): return x.A.y",
    "counter = 0\ndef g():\n    global counter\n    counter = torch.softmax(counter)\ndef f(x): return counter",
    # not names at all
    '"""torch.softmax"""\ndef f(x):\n    """Like torch.softmax(x)."""\n    return "torch.softmax"  # torch.softmax',
    "def f(x): return x.sum(softmax=1, logsumexp=2)",
    "def f(x): return x.softmax(-1)",
    "def f(x): return x.torch.softmax(-1)",
    "def f(x):\n    x.softmax = 3\n    return x.softmax",
    "class S:\n    softmax = 1\n    def logsumexp(self): return self.softmax\ndef f(x): return S().logsumexp()",
    "def f(x: F.softmax, *y: nn.Softmax) -> torch.softmax:\n    z: nn.Softmax = x\n    x.y: nn.Softmax = z",
    'def f(x): return getattr(x, "softmax")()',
    'def getattr(a, b): return abs\ndef f(x): return getattr(torch, "softmax")(x)',
    "def f(x, name): return getattr(torch, name)(x)",
    "def f(x): return getattr(torch, 'nn.functional', x).softmax(0)",
    # not forbidden
    "def f(x): return torch.exp(x - x.amax()).log1p() + F.softplus(x) + F.logsigmoid(x) + torch.logaddexp(x, x)",
    "def f(x, y): return F.poisson_nll_loss(x, y) + F.gaussian_nll_loss(x, y, y) + nn.PoissonNLLLoss()(x, y)",
    "def f(x, y): return nn.SoftMarginLoss()(x, y) + F.multilabel_soft_margin_loss(x, y) + nn.Softplus()(x)",
    "def f(x): return F.scaled_dot_product_attention(x, x, x) + nn.MultiheadAttention(1, 1)(x, x, x)[0]",
    "def f(x): return torch.ops.mine.logsumexp(x)",
    "def f(x): return torch.ops.aten._softmax_backward_data(x, x, 0, x.dtype)",
    # replaced by the file itself
    "torch.softmax = abs\ndef f(x): return torch.softmax(x)",
    "setattr(torch, 'softmax', abs)\ndef f(x): return torch.softmax(x)",
    "F.cross_entropy = abs\ndef f(x): return torch.nn.functional.cross_entropy(x)",
    "del nn.functional\ndef f(x): return F.softmax(x)",
]


@pytest.mark.parametrize(("source", "expected"), USES)
def test_uses_are_found(source: str, expected: str) -> None:
    """Whatever must be torch's is found, in the line where it stands, under a name that torch has."""
    assert told(source) == expected
    assert functools.reduce(getattr, expected.split(".")[1:], torch) is not None


@pytest.mark.parametrize("source", LOOK_ALIKES)
def test_look_alikes_are_not(source: str) -> None:
    """Names of the file's own, code that is not reached, words, and relatives that are allowed, are no uses."""
    ast.parse(source)  # a slip in the snippet would pass as silence
    assert told(IMPORTED + source) is None


@pytest.mark.parametrize(
    "source",
    [
        "def f(x: F.softmax = softmax): pass",
        "def f(x):\n    z: abs = softmax",
        "def f(x): return x.a.b(F.softmax).c",
        "def f(x):\n    def dead(): lse(x)",
        "def f(torch): return softmax(torch)",
        "def f(x): return [softmax for softmax in lse(x)]",
        "class A:\n    def softmax(self): pass\ndef f(x): return softmax(x)",
        "def g():\n    softmax = abs\ndef f(x): return softmax(x)",
        "def f(x):\n    def g(softmax): return softmax\n    return g(softmax)",
        "def softmax(x): pass\nfrom torch import softmax\ndef f(x): return softmax(x)",
        "from os import *\ndef f(x): return softmax(x)",
        "from helpers import *\nimport torch\ndef f(x): return torch.softmax(x)",
        "if __name__ != '__main__':\n    g = torch.softmax\ndef f(x): return g(x)",
        "a, b = abs, torch.softmax\ndef f(x): return b(x)",
        "def g():\n    def torch(): pass\ndef f(x): return torch.softmax(x)",
        "softmin = abs\ndef f(x): return softmax(x)",
        "torch.softplus = abs\ndef f(x): return torch.softmax(x)",
        "def f(x):\n    def g():\n        global lse\n        return softmax(x)",
        "y = 1\ny += torch.softmax\ndef f(x): return y",
        "y = torch.softmax\ny += 1\ndef f(x): return y",
        "if x:\n    def g(): pass\nelse:\n    def g(): softmax()\ndef f(x): return g()",
        "while x:\n    g = softmax\ndef f(x): return g()",
        "G = None\nt = torch\nG = t\ndef f(x): return G.softmax(x)",
        "a, *b = softmax, 1, 2\ndef f(x): return b",
        "def f(x): return (lambda softmax: 1)(x) + softmax(x)",
    ],
)
def test_neighbours_of_look_alikes_are_found(source: str) -> None:
    """What silences a look-alike reaches no further than it must."""
    assert told(IMPORTED + source)


def test_each_exercise_for_itself() -> None:
    """Every exercise has its own forbidden names and its own reach, and one without a use is absent."""
    source = "import torch\ndef a(x): return b(x)\ndef b(x): return torch.softmax(x, 0) + torch.logsumexp(x, 0)\n"
    source += "def c(x): return x\ndef d(x):\n    return a(x) + torch.var(x)"
    exercises = {"a": ["logsumexp"], "b": ["softmax", "logsumexp"], "c": ["softmax"], "d": ["var"], "e": ["softmax"]}
    assert forbidden_calls(source, exercises) == {
        "a": Call("logsumexp", 3, "torch.logsumexp"),
        "b": Call("softmax", 3, "torch.softmax"),
        "d": Call("var", 6, "torch.var"),
    }
    assert forbidden_calls(source, {"a": [], "d": ["logsumexp"]}) == {"d": Call("logsumexp", 3, "torch.logsumexp")}


def test_other_forbidden_names() -> None:
    """The rules for spelling hold for any operator, what only shares letters is not meant, the first name counts."""
    source = "import torch\ndef f(x): return torch.nn.LayerNorm(3)(torch.Tensor(x)) + torch.masked_fill(x, x, 0)"
    assert forbidden_calls(source, {"f": ["layer_norm"]}) == {"f": Call("layer_norm", 2, "torch.nn.LayerNorm")}
    assert forbidden_calls(source, {"f": ["LayerNorm", "layer_norm"]})["f"].name == "LayerNorm"
    assert forbidden_calls(source, {"f": ["tensor", "fill", "norm", "rms_norm"]}) == {}


# Names of torch that sound like the forbidden ones, and are other functions or no functions.
RELATIVES = re.compile(
    r"poisson_?nll|gaussian_?nll|soft_?margin|backward|options|_get_softmax_dim|_get_softmax|linear_cross_entropy_options",
    re.IGNORECASE,
)
SOUNDS = re.compile(r"log_?sum_?exp|logcumsum|soft_?max|softmin|cross_?entropy|nll|bce", re.IGNORECASE)


def sounding(owner: object) -> list[str]:
    """The attributes of something that sound like forbidden names."""
    return [name for name in dir(owner) if SOUNDS.search(name)]


@pytest.mark.parametrize(
    "path",
    [
        "torch",
        "torch.nn",
        "torch.nn.functional",
        "torch.special",
        "torch.masked",
        "torch.sparse",
        "torch.Tensor",
        "torch._C._nn",
        "torch._C._VariableFunctions",
        "torch._C.TensorBase",
    ],
)
def test_all_spellings_that_torch_has(path: str) -> None:
    """Of all names in torch that sound forbidden, those of other functions are not found, and all others are."""
    names = sounding(functools.reduce(getattr, path.split(".")[1:], torch))
    assert names
    found = {name for name in names if told(f"import torch\ndef f(x): return {path}.{name}")}
    assert found == {name for name in names if not RELATIVES.search(name)}


def test_all_operators_that_torch_has() -> None:
    """So it is with the operators below, whose names torch lists."""
    schemas = [schema.name for schema in torch._C._jit_get_all_schemas()]
    names = {name.removeprefix("aten::") for name in schemas if name.startswith("aten::") and SOUNDS.search(name)}
    assert {"_softmax", "nll_loss2d_forward", "special_logsumexp"} <= names
    found = {name for name in names if told(f"import torch\ndef f(x): return torch.ops.aten.{name}.default")}
    assert found == {name for name in names if not RELATIVES.search(name)}


@pytest.mark.parametrize("module", ["torch", "torch.nn", "torch.nn.functional", "torch.special", "torch.masked"])
def test_what_a_star_gives(module: str) -> None:
    """`from … import *` gives the forbidden names that it really gives, and no others."""
    namespace: dict[str, Any] = {}
    exec(f"from {module} import *", namespace)
    everywhere = {name for owner in (torch, torch.nn, torch.nn.functional, torch.special) for name in sounding(owner)}
    found = {name for name in everywhere if told(f"from {module} import *\ndef f(x): return {name}")}
    assert found == {name for name in namespace if SOUNDS.search(name) and not RELATIVES.search(name)}


@pytest.mark.parametrize(
    "path",
    [ROOT / "solutions/losses/losses.py", *sorted((ROOT / "assignments/losses/variants").glob("*.py"))],
    ids=lambda path: path.stem,
)
def test_right_ways_are_silent(path: Path) -> None:
    """No right way in the repository is accused."""
    source = path.read_text(encoding="utf-8")
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert forbidden_calls(source, dict.fromkeys(names, FORBIDDEN)) == {}


NO_PYTHON = {
    "unfinished": "def f(:",
    "surrogate": "def f(x): return '\ud800'",
    "NUL": "f\0",
    "empty": "",
    "parentheses": "(" * 1000,
    "attributes": "f" + ".a" * 100_000,
    "signs": "-" * 100_000,
}


@pytest.mark.parametrize("source", NO_PYTHON.values(), ids=NO_PYTHON)
def test_what_does_not_parse_gives_nothing(source: str) -> None:
    """A file that is no Python, that nobody can read or that holds no code has no uses."""
    assert forbidden_calls(source, {"f": FORBIDDEN}) == {}


# Python itself decides what a name is: programs are run, and `f()` gives what it found there.
BIND_TORCH = ["from torch import logsumexp as {n}", "from torch.special import logsumexp as {n}"]
BIND_OTHER = ["{n} = len", "def {n}(): pass", "class {n}: pass", "from math import log as {n}"]
COPY = [
    "{n} = {m}",
    "del {n}; {n} = abs",
    "{n}, {m} = {m}, {n}",
    "{n}: object = {m}",
    "import torch; {n} = torch.logsumexp",
]
READ = [
    "def f(): return {n}",
    "def f(y={n}): return y",
    "def f({n}=len): return {n}",
    "def f(): return (lambda: {n})()",
    "def f(): return (lambda {n}: {n})(len)",
    "def f(): return [{n} for i in '1'][0]",
    "def f(): return [{n} for {n} in [len]][0]",
    "def f(): return [{m} for {n} in [len]][0]",
    "def f():\n    t = {n}\n    return t",
    "def f():\n    {n} = len\n    return {n}",
    "def f():\n    from torch import logsumexp as {n}\n    return {n}",
    "def f():\n    def g():\n        {n} = len\n    return {n}",
    "def f():\n    def g({m}): return {n}\n    return g(len)",
    "def f():\n    class A:\n        {n} = len\n        def g(self): return {n}\n    return A().g()",
    "def f():\n    def g(): return {n}\n    {n} = len\n    return g()",
    "class A:\n    {n} = {n}\ndef f(): return A.{n}",
    "class A:\n    y = {n}\n    {n} = len\ndef f(): return A.y",
    "class A:\n    {n} = len\n    y = [{n} for i in '1']\ndef f(): return A.y[0]",
    "y = [{n} for i in '1']\ndef f(): return y[0]",
    "y = lambda: {n}\ndef f(): return y()",
]
MAYBE = [
    "if {n}:\n    {s}",
    "if not {n}:\n    {s}\nelse:\n    pass",
    "try:\n    {s}\nexcept ValueError: pass",
    "try:\n    raise ValueError\nexcept ValueError:\n    {s}",
    "for i in {n} and '1' or '':\n    {s}",
    "while {m} is None:\n    {s}\n    break",
    "def g():\n    global {n}\n    {s}\ng()",
    "def g():\n    global {n}\n    {s}",
    "if __name__ == '__main__':\n    {s}",
    "from os import *\n{s}",
]


NOTHING = st.just("")


def filled(templates: list[str], inner: st.SearchStrategy[str] = NOTHING) -> st.SearchStrategy[str]:
    """Templates with names for {n} and {m}, the two different, and a line for {s}."""
    pairs = st.permutations("abc")
    return st.builds(
        lambda text, two, line: text.format(n=two[0], m=two[1], s=line), st.sampled_from(templates), pairs, inner
    )


def run(source: str) -> object:
    """What `f()` gives when the program is run."""
    namespace: dict[str, Any] = {"__name__": "losses"}
    exec(source, namespace)
    return namespace["f"]()


def is_torchs(value: object) -> bool:
    """Whether it is one of the functions that the programs take from torch."""
    return value in (torch.logsumexp, torch.special.logsumexp)


@given(st.lists(filled(BIND_TORCH + BIND_OTHER + COPY), max_size=6), filled(READ), st.integers(0, 6))
def test_names_mean_what_python_makes_of_them(lines: list[str], read: str, where: int) -> None:
    """In a program without branches, a use is found if and only if the name really is torch's when the code runs."""
    source = "\n".join(["a = b = c = None", *lines[:where], read, *lines[where:]])
    assert (told(source) is not None) == is_torchs(run(source)), source


@given(
    st.lists(filled(BIND_TORCH + BIND_OTHER) | filled(MAYBE, filled(BIND_TORCH + BIND_OTHER)), max_size=6),
    filled(READ),
    st.integers(0, 6),
)
def test_nothing_is_found_that_python_does_not_see(lines: list[str], read: str, where: int) -> None:
    """With branches, what is found is torch's when the code runs."""
    source = "\n".join(["a = b = c = None", *lines[:where], read, *lines[where:]])
    assert not told(source) or is_torchs(run(source)), source


EXPRESSIONS = st.recursive(
    st.sampled_from(["torch", "F", "softmax", "x", "(1)", "'softmax'", "torch.nn.functional", "..."]),
    lambda inner: st.builds(
        lambda text, a, b: text.format(a=a, b=b),
        st.sampled_from([
            "{a}.softmax", "{a}({b})", "getattr({a}, 'softmax')", "[{a} for softmax in {b} if {a}]", "{a}[{b}:]",
            "{{{a}: {b} for F, *x in {b} for y in x}}", "(lambda torch={a}, /, *F, x: {b})", "(softmax := {a})",
            "f'{{{a}!r:{{{b}}}}}'", "({a} if {b} else {a})", "(x async for x in {a})", "(await {a})", "(yield {a})",
            "{a}.nn.functional", "({a} + {b})", "(*{a}, {b})", "{{**{a}}}", "{a}.NLLLoss(x={b})",
        ]),
        inner,
        inner,
    ),
    max_leaves=6,
)  # fmt: skip
STATEMENTS = st.builds(
    lambda text, a, b: text.format(a=a, b=b),
    st.sampled_from([
        "{a}", "softmax = {a}", "F: {a} = {b}", "F: {a}", "x, *F = {a}, {b}", "torch.softmax = {a}", "x[{a}] += {b}",
        "softmax, torch = {a}, {b}", "(x, (F, y)) = [a, *b] = {a}", "del softmax, torch.F", "return {a}", "raise {a}",
        "import torch", "import torch.nn.functional as F", "from torch import softmax", "from torch.nn import *",
        "from .x import *", "from helpers import torch as x", "global softmax, x", "nonlocal F", "assert {a}, {b}",
        "@{a}\ndef f(softmax, *, x: {a} = {b}) -> {a}: return {b}", "async def f(F={a}): yield {b}", "f = {a}",
        "class f({a}, metaclass={b}): x: F = {a}", "for x.y in {a}: break\nelse: {b}", "while {a}: continue",
        "with {a} as softmax, {b} as (F, x): pass", "async for softmax in {a}: {b}", "if {a}: {b}\nelif {b}: {a}",
        "try: {a}\nexcept* ({b}) as softmax: {a}\nfinally: {b}", "if __name__ == '__main__': {a}",
        "match {a}:\n    case F.x | [softmax, *x] | {{'a': 1, **F}} | torch.f(y=1 as F) if {b}: {a}\n    case _: {b}",
    ]),
    EXPRESSIONS,
    EXPRESSIONS,
)  # fmt: skip


def indented(head: str, body: list[str]) -> str:
    """A compound statement around others."""
    return head + "\n    pass\n" + "\n".join("    " + line for text in body for line in text.split("\n"))


PROGRAMS = st.lists(
    st.recursive(
        STATEMENTS,
        lambda inner: st.builds(
            indented,
            st.sampled_from(["def f(x, torch=F):", "async def g():", "class A(f):", "if softmax:", "for F in x:"]),
            st.lists(inner, max_size=4),
        ),
        max_leaves=8,
    ),
    max_size=6,
).map("\n".join)


def sensible(source: str) -> None:
    """Ask for everything, and see that the answers are possible ones."""
    lines = source.count("\n") + 1
    for exercise, call in forbidden_calls(source, dict.fromkeys(["f", "g", "A", "x"], FORBIDDEN)).items():
        assert exercise in source
        assert call.name in FORBIDDEN
        assert 1 <= call.line <= lines
        assert re.fullmatch(r"torch(\.\w+)+", call.written)


@given(PROGRAMS)
def test_no_program_is_too_strange(source: str) -> None:
    """Whatever Python can parse is read without an error, sense or not."""
    try:
        ast.parse(source)
    except SyntaxError:
        assume(False)  # quotes in an f-string, a pattern that catches all before others
    sensible(source)


SEEDS = [source for source, *_ in USES] + [IMPORTED + source for source in LOOK_ALIKES]


@given(st.sampled_from(SEEDS), st.sampled_from(SEEDS), st.data())
def test_no_edit_is_too_strange(one: str, other: str, data: st.DataObject) -> None:
    """Files cut, mixed and scrambled at any place are read without an error."""
    for _ in range(data.draw(st.integers(1, 3))):
        start, end = (data.draw(st.integers(0, len(one))) for _ in "ab")
        piece = data.draw(st.sampled_from(["", other, other[start:end], "\n", "torch", "(", " ", "softmax = "]))
        one = one[:start] + piece + one[end:]
    sensible(one)


DEEP = {
    "attributes": "f = torch" + ".a" * 900,
    "calls": "f = torch" + ".a()" * 700,
    "sums": "f = 1" + " + torch" * 900,
    "elif": "def f(x):\n if x: pass\n" + " elif x: pass\n" * 900,
    "lambdas": "f = " + "lambda: " * 300 + "torch",
    "parentheses": "f = " + "(" * 150 + "torch" + ")" * 150,
    "functions": "".join(" " * depth + "def f():\n" for depth in range(90)) + " " * 90 + "torch",
    "comprehension": "f = [x " + "for x in x " * 20_000 + "]",
}


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
def test_no_nesting_is_too_deep(source: str) -> None:
    """What is nested as deep as Python parses it is read as well, and so is what stands below it."""
    assert told(f"import torch\n{source}\nf = [torch.softmax, f]") is not None
    assert told(f"import torch\n{source}") is None


def megabyte(head: str, line: str, end: str = "") -> str:
    """A file of 1 MiB made of one numbered line; {k} is the number after {i}."""
    count = (1 << 20) // len(line)
    return head + "".join(line.format(i=i, k=i + 1) for i in range(count)) + end


LARGE = {
    "code": megabyte("def f(x):\n", "    y{i} = torch.exp(x) + y0.sum(-1)\n"),
    "aliases": megabyte("a0 = torch\n", "a{k} = a{i}\n", "def f(): return a9.exp\n"),
    "aliases that grow": megabyte("a0 = torch\n", "a{k} = a{i}.b\n", "def f(): return a9.exp\n"),
    "aliases backwards": megabyte("def f(x):\n", "    a{i} = a{k}\n"),
    "branches": megabyte("x = 1\n", "if c: x = x + x\n", "f = lambda: x\n"),
    "functions": megabyte("", "def g{i}(x): return g{k}(x)\n", "f = g0\n"),
    "attributes": megabyte("def f(x):\n", " torch" + ".a" * 900 + "\n"),
    "stars": megabyte("", "a{i} = 1\nfrom b import *\n", "f = a1\n"),
    "replaced": megabyte("", "torch.a{i} = 1\n", "f = torch.a1\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("source", LARGE.values(), ids=LARGE)
def test_no_file_is_too_long(source: str) -> None:
    """A file of 1 MiB is read in some seconds for all exercises together, however its names hang together."""
    start = time.process_time()
    assert forbidden_calls("import torch\n" + source, dict.fromkeys(["f", "g1", "a1", "x"], FORBIDDEN)) == {}
    assert time.process_time() - start < 60  # it takes up to 15 s here; anything quadratic takes many minutes

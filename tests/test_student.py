"""A submission in memory: what its statements define, what its calls answer, what is told of its errors."""

from __future__ import annotations

import linecache
import math
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from grader.student import FAULTS_KEPT, MESSAGE_LIMIT, StudentModule, fault_of
from grader.wire import pack

FILE = "losses_of_a_student.py"


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    """Modules that a test loads are forgotten, and the random state is as before."""
    before, state = dict(sys.modules), torch.get_rng_state()
    linecache.cache.pop(FILE, None)
    yield
    for name in set(sys.modules) - set(before):
        if not getattr(sys.modules[name], "__spec__", None):
            del sys.modules[name]
    torch.set_rng_state(state)


def load(source: str, file: str = FILE) -> StudentModule:
    """``source`` with all its statements executed."""
    module = StudentModule(source, file)
    module.execute(range(len(module.statements)))
    return module


def call(source: str, name: str = "f", *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The answer to one call of one function."""
    return load(source).answer({"op": "call", "name": name, "args": args, "kwargs": kwargs})


def vjp(source: str, *args: Any, wrt: tuple[int, ...] = (0,), cotangent: Any = None, **kwargs: Any) -> Any:
    """The value and gradients of ``f`` in ``source``."""
    request: dict[str, Any] = {
        "op": "vjp",
        "name": "f",
        "args": args,
        "kwargs": kwargs,
        "wrt": wrt,
        "cotangent": cotangent,
    }
    return load(source).answer(request)["value"]


def hvp(source: str, *args: Any, wrt: int = 0, vector: Any = None) -> Any:
    """The gradient and Hessian-vector product of ``f`` in ``source``."""
    request = {"op": "hvp", "name": "f", "args": args, "kwargs": {}, "wrt": wrt, "vector": vector}
    return load(source).answer(request)["value"]


# Loading


def test_nothing_runs_before_execute() -> None:
    """Making the module executes nothing and leaves no trace in this process."""
    module = StudentModule("raise SystemExit\nx = 1\n", FILE)
    assert len(module.statements) == 2
    assert not hasattr(module.module, "x")
    assert module.module.__name__ not in sys.modules
    assert FILE not in linecache.cache


@pytest.mark.parametrize("source", ["def f(:", "x = (", "  x = 1", "\0", "'" * 3, "return = 3"])
def test_source_that_does_not_parse(source: str) -> None:
    """What is no Python raises SyntaxError (or ValueError for a null byte) and defines nothing."""
    with pytest.raises((SyntaxError, ValueError)):
        StudentModule(source, FILE)


def test_a_statement_that_raises_keeps_the_rest() -> None:
    """Whatever one top-level statement raises, those before and after it count, and it is told with its line."""
    module = load("x = 1\n\nraise KeyError('no')\ny = x + 1\n1/0\nz = y\n")
    assert (module.module.x, module.module.y, module.module.z) == (1, 2, 2)
    assert [(fault["name"], fault["line"], fault["text"]) for fault in module.faults] == [
        ("KeyError", 3, "'no'"),
        ("ZeroDivisionError", 5, "division by zero"),
    ]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("import sys; sys.exit(0)", "SystemExit"),
        ("exit()", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("import no_such_module_at_all", "ModuleNotFoundError"),
        ("return 3", "SyntaxError"),
        ("await f()", "SyntaxError"),
        ("def f(a, a): pass", "SyntaxError"),
        ("nonlocal q", "SyntaxError"),
        ("class A:\n    x = 1\n    assert False", "AssertionError"),
        ("raise BaseExceptionGroup('g', [KeyboardInterrupt()])", "BaseExceptionGroup"),
    ],
)
def test_quitting_is_a_fault_like_any_other(statement: str, name: str) -> None:
    """A file that quits, or that compiles only in part, still defines its functions."""
    module = load(f"def before(): return 1\n{statement}\ndef after(): return 2\n")
    assert [(fault["name"], fault["line"]) for fault in module.faults] == [(name, 2)]
    assert (module.module.before(), module.module.after()) == (1, 2)


def test_statements_by_index() -> None:
    """Any choice of statements can be executed, in any order and more than once."""
    module = StudentModule("x = 1\nx += 1\nx *= 10\n", FILE)
    module.execute([0, 2])
    assert module.module.x == 10
    module.execute([1])
    assert module.module.x == 11


def test_many_faults_are_a_few() -> None:
    """The first faults are kept and the others dropped, so that they always fit into one frame."""
    module = load("\n".join(f"raise ValueError('\\x01' * 10_000 + '{i}')" for i in range(300)))
    assert len(module.faults) == FAULTS_KEPT
    assert [fault["line"] for fault in module.faults] == list(range(1, FAULTS_KEPT + 1))
    assert pack({"faults": module.faults}, reply=True)


def test_future_imports_hold_for_what_follows() -> None:
    """`from __future__ import annotations` acts on the statements behind it, not on those before."""
    module = load("def early(a: 1 + 1): pass\nfrom __future__ import annotations\ndef late(a: nobody.knows): pass\n")
    assert module.faults == []
    assert module.module.early.__annotations__ == {"a": 2}
    assert module.module.late.__annotations__ == {"a": "nobody.knows"}


def test_our_own_future_imports_do_not_leak() -> None:
    """Without that import, annotations are evaluated as the student's Python does."""
    assert load("def f(a: 1 + 1): pass").module.f.__annotations__ == {"a": 2}


DATACLASS = """\
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar, NamedTuple
import enum

@dataclass(frozen=True)
class Point:
    x: int
    y: int = 2
    origin: ClassVar[int] = 0

class Pair(NamedTuple):
    a: int = 3

class Kind(enum.Enum):
    ONE = 1

def f(*_): return Point(1).y + Pair().a + Kind.ONE.value
"""


def test_dataclasses_work() -> None:
    """Dataclasses, named tuples and enums, which look their module up, work in a submission."""
    assert call(DATACLASS) == {"value": 6}


def test_dataclasses_work_in_scenarios() -> None:
    """They do so in scenarios, too."""
    assert load("").answer({"op": "play", "name": "f", "source": DATACLASS}) == {"value": 6}


def test_decorators_and_closures() -> None:
    """Decorators, globals, recursion, lambdas and comprehensions behave as in a file."""
    source = """\
import functools
import torch

SCALE = 2

def doubled(function):
    @functools.wraps(function)
    def inner(*args):
        return SCALE * function(*args)
    return inner

@doubled
@functools.lru_cache
def f(n):
    return n if n < 2 else f(n - 1) // SCALE + f(n - 2) // SCALE

g = lambda x: [f(i) for i in range(x)]
"""
    assert call(source, "f", 5) == {"value": 10}
    assert call(source, "g", 4) == {"value": [0, 2, 2, 4]}


def test_the_docstring_is_the_first_string() -> None:
    """A bare string in the middle of the file does not replace the module's docstring."""
    module = load('"""first"""\nx = __doc__\n"""second"""\ny = __doc__\n')
    assert (module.module.__doc__, module.module.x, module.module.y) == ("first", "first", "first")
    assert load("x = 1\n'no docstring'\n").module.__doc__ is None
    assert load('"""one\n   two"""').module.__doc__ == "one\n   two"


def test_the_main_part_is_left_out() -> None:
    """What stands under `if __name__ == "__main__"` does not run."""
    module = load("x = 1\nif __name__ == '__main__':\n    x = 2\n")
    assert (module.module.x, module.module.__name__, module.module.__file__) == (1, FILE[:-3], FILE)


@pytest.mark.parametrize("file", ["torch.py", "random.py", "json.py", "grader.py", "sys.py", "pytest.py"])
def test_a_file_with_the_name_of_a_library(file: str) -> None:
    """A submission may be called torch.py: it replaces nobody's module and can import the real one."""
    before = sys.modules.get(file[:-3])
    module = load(
        "import torch\nimport random\nimport json\nx = torch.ones(1).item() + random.Random(0).random()", file
    )
    assert module.faults == []
    assert sys.modules.get(file[:-3]) is before
    assert module.module.x == 1 + 0.8444218515250481  # the first number of Python's generator with seed 0


def test_a_file_by_its_path() -> None:
    """At home the file is a path: the module is called like the file in it, and lines are found."""
    module = load("def f():\n    raise KeyError\n", "/some/where/losses_by_path.py")
    assert module.module.__name__ == "losses_by_path"
    assert module.answer({"op": "call", "name": "f"})["raised"]["line"] == 2


def test_lines_of_the_source_can_be_shown() -> None:
    """Tracebacks inside the submission find its lines although there is no file."""
    load("x = 1\ny = 2  # here\n")
    assert linecache.getline(FILE, 2) == "y = 2  # here\n"


# Calls


def test_a_call_with_arguments() -> None:
    """Positional and keyword arguments arrive; the value comes back."""
    assert call("def f(a, *b, c=0, **d): return [a, b, c, d]", "f", 1, 2, c=3, e=4) == {"value": [1, (2,), 3, {"e": 4}]}


@pytest.mark.parametrize(
    "source",
    ["", "f = 3", "f = None", "def g(): pass", "raise ValueError\n", "def __getattr__(n): raise AttributeError"],
)
@pytest.mark.parametrize("op", ["call", "vjp", "hvp"])
def test_a_missing_function(source: str, op: str) -> None:
    """A name that is not there, or is nothing to call, is missing, whatever is asked of it."""
    more = {"wrt": (0,) if op == "vjp" else 0, "cotangent": None, "vector": None}
    request: dict[str, Any] = {"op": op, "name": "f", "args": (torch.ones(2),), "kwargs": {}, **more}
    assert load(source).answer(request) == {"missing": "f"}


@pytest.mark.parametrize(
    "source",
    [
        "def f(): raise LookupError('f')",
        "def f(): raise KeyError('f')",
        "def f():\n global f\n del f\n raise LookupError('f')",
        "def __getattr__(name): raise KeyError(name)",
    ],
)
def test_a_lookup_error_of_the_student(source: str) -> None:
    """A LookupError that the student's code raises is raised, not taken for a missing function."""
    assert "LookupError" in call(source)["raised"]["builtins"]


def test_a_name_made_on_demand() -> None:
    """A module that makes its functions when asked for them has them."""
    assert call("def __getattr__(name): return lambda: name", "anything") == {"value": "anything"}


def test_a_raised_error_is_told() -> None:
    """Of an error are told: its type, its builtin bases from special to general, its text, the student's line."""
    answer = call("def g(x):\n    return x[3]\n\ndef f():\n    return g([1])\n")
    assert answer == {
        "raised": {
            "name": "IndexError",
            "builtins": ["IndexError", "LookupError", "Exception", "BaseException", "object"],
            "text": "list index out of range",
            "line": 2,
        }
    }


def test_the_line_is_in_the_students_file() -> None:
    """An error from inside a library is told at the student's line that called it."""
    raised = call("import torch\ndef f():\n    y = 1\n    return torch.ones(2) @ torch.ones(3)\n")["raised"]
    assert (raised["name"], raised["line"]) == ("RuntimeError", 4)


def test_wrong_arguments_have_no_line() -> None:
    """An error before the function's first line has no line in the file."""
    raised = call("def f(a): return a")["raised"]
    assert (raised["name"], raised["line"]) == ("TypeError", None)


def test_an_unwritten_function() -> None:
    """NotImplementedError is told as such: it is what a stub raises."""
    assert call("def f(): raise NotImplementedError")["raised"]["builtins"][0] == "NotImplementedError"


@pytest.mark.parametrize(
    ("source", "builtins"),
    [
        ("class ValueError(Exception): pass", ["Exception", "BaseException", "object"]),
        ("class ValueError(Exception): __module__ = 'builtins'", ["Exception", "BaseException", "object"]),
        ("class Mine(ValueError): pass\nValueError = Mine", ["ValueError", "Exception", "BaseException", "object"]),
    ],
)
def test_a_class_that_is_only_called_value_error(source: str, builtins: list[str]) -> None:
    """What counts is whether an error is the builtin or a subclass of it, not what it is called."""
    assert call(f"{source}\ndef f(): raise ValueError('x')")["raised"]["builtins"] == builtins


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("raise RuntimeError('inside')", "<its text cannot be shown: RuntimeError>"),
        ("raise SystemExit(0)", "<its text cannot be shown: SystemExit>"),
        ("return 3", "<its text cannot be shown: TypeError>"),
        ("return 'x' * 1_000_000", "x" * MESSAGE_LIMIT),
        ("return 'a\\ud800b'", "a\\ud800b"),
        ("return type('S', (str,), {'__getitem__': lambda s, i: 7})('mine')", "mine"),
    ],
    ids=["raises", "exits", "no text", "long", "surrogate", "subclass"],
)
def test_texts_of_errors_are_plain(body: str, text: str) -> None:
    """Whatever an error's __str__ does, its text is short, plain and can be sent."""
    answer = call(f"class E(Exception):\n    def __str__(self):\n        {body}\ndef f(): raise E")
    assert answer["raised"]["text"] == text
    assert type(answer["raised"]["text"]) is str
    assert pack(answer, reply=True)


@pytest.mark.parametrize("statement", ["import sys; sys.exit(0)", "raise KeyboardInterrupt", "raise GeneratorExit"])
def test_quitting_in_a_call_is_raised(statement: str) -> None:
    """A call that wants to end the process answers like any other that raises."""
    assert "BaseException" in call(f"def f():\n    {statement}")["raised"]["builtins"]


def test_endless_recursion_is_raised() -> None:
    """A function that calls itself for ever answers with RecursionError."""
    assert call("def f(): return f()")["raised"]["name"] == "RecursionError"


def test_fault_of_an_error_from_elsewhere() -> None:
    """An error that never passed through the file has no line."""
    try:
        raise KeyError("x")
    except KeyError as error:
        assert fault_of(error, FILE)["line"] is None


def test_random_numbers_repeat() -> None:
    """Code that draws at random answers alike whenever it is asked, in torch and in Python."""
    source = "import random\nimport torch\ndef f(): return [torch.rand(3), torch.randperm(9), random.random()]"
    module = load(source)
    answers = [module.answer({"op": "call", "name": "f"})["value"] for _ in range(2)] + [call(source)["value"]]
    torch.manual_seed(0)
    expected = [torch.rand(3).tolist(), torch.randperm(9).tolist(), 0.8444218515250481]
    assert [[a.tolist(), b.tolist(), c] for a, b, c in answers] == [expected] * 3


def test_the_arguments_after_a_call() -> None:
    """With the value come the positional arguments as the call has left them, in place or not."""
    source = "def f(x, more, *, by):\n    x.add_(by)\n    more.append(by)\n    return x * 2\n"
    x, more = torch.tensor([1.0, 2.0]), [0]
    request: dict[str, Any] = {"op": "with_inputs", "name": "f", "args": (x, more), "kwargs": {"by": 1}}

    value, after = load(source).answer(request)["value"]

    assert value.tolist() == [4.0, 6.0]
    assert (after[0].tolist(), after[1]) == ([2.0, 3.0], [0, 1])
    assert len(after) == 2


@pytest.mark.parametrize(
    ("source", "word"), [("", "missing"), ("def f(x): raise KeyError", "raised"), ("f = 3", "missing")]
)
def test_the_arguments_of_a_call_that_gives_no_value(source: str, word: str) -> None:
    """Nothing is told of them: what a call that raised has written is no answer."""
    request: dict[str, Any] = {"op": "with_inputs", "name": "f", "args": (torch.ones(2),), "kwargs": {}}
    assert list(load(source).answer(request)) == [word]


# Forbidden operators

TRIES = """\
import torch

def direct(x):
    return x.softmax(-1)

def caught(x):
    try:
        return torch.nn.functional.softmin(x, -1)
    except Exception:
        return x * 0

def bare(x):
    try:
        x.logsumexp(-1), x.softmax(-1)
    except:
        pass
    return x.log_softmax(-1)

def innocent(x):
    return x.exp() / x.exp().sum()
"""


@pytest.fixture
def tries() -> Iterator[StudentModule]:
    """A module whose functions reach for softmax; the library is whole again afterwards."""
    module = load(TRIES)
    yield module
    module.guard.raise_for(())


def asked(module: StudentModule, name: str, *forbidden: str) -> dict[str, Any]:
    """The answer to a call for whose exercise some operators are forbidden."""
    request: dict[str, Any] = {"op": "call", "name": name, "args": (torch.zeros(2),), "kwargs": {}}
    return module.answer(request | ({"forbidden": forbidden} if forbidden else {}))


def test_a_forbidden_operator_is_raised_and_told(tries: StudentModule) -> None:
    """At the student's line, as a RuntimeError; beside it stands the name that the assignment gave it."""
    answer = asked(tries, "direct", "softmax")

    assert answer["forbidden"] == ["softmax"]
    assert (answer["raised"]["builtins"][0], answer["raised"]["line"]) == ("RuntimeError", 4)
    assert answer["raised"]["text"].startswith("softmax is forbidden")


@pytest.mark.parametrize(("name", "seen"), [("caught", ["softmax"]), ("bare", ["logsumexp"])])
def test_a_forbidden_operator_is_told_though_it_was_caught(tries: StudentModule, name: str, seen: list[str]) -> None:
    """The value that was returned instead comes along, and what was tried first."""
    answer = asked(tries, name, "logsumexp", "softmax")

    assert sorted(answer) == ["forbidden", "value"]
    assert answer["forbidden"] == seen


def test_each_request_has_its_own_rules(tries: StudentModule) -> None:
    """What one exercise must do without another one may use; and nothing is remembered from one call to the next."""
    assert list(asked(tries, "innocent", "softmax")) == ["value"]
    assert list(asked(tries, "direct", "logsumexp")) == ["value"]
    assert "forbidden" in asked(tries, "direct", "softmax")
    for _ in range(2):
        assert asked(tries, "direct")["value"].tolist() == [0.5, 0.5]
    assert "forbidden" in asked(tries, "direct", "softmax")
    assert list(asked(tries, "innocent", "softmax")) == ["value"]


@pytest.mark.parametrize("op", ["call", "with_inputs", "vjp", "hvp", "play"])
def test_every_kind_of_request_is_watched(tries: StudentModule, op: str) -> None:
    """Whatever is asked for beside the value, and what a scenario calls."""
    request: dict[str, Any] = {
        "op": op, "name": "run" if op == "play" else "direct", "args": (torch.ones(2),), "kwargs": {},
        "wrt": 0 if op == "hvp" else (0,), "cotangent": None, "vector": None, "forbidden": ("softmax",),
        "source": "import torch\ndef run(student): return student.direct(torch.ones(2))",
    }  # fmt: skip

    assert tries.answer(request)["forbidden"] == ["softmax"]


@pytest.mark.parametrize("op", ["vjp", "hvp"])
def test_a_backward_is_watched(op: str) -> None:
    """A gradient written by hand must do without it, too."""
    module = load(CUBE.replace("BACKWARD", "return g * 3 * x ** 2 * x.softmax(-1)"))
    more = {"wrt": 0 if op == "hvp" else (0,), "cotangent": None, "vector": None, "forbidden": ("softmax",)}

    answer = module.answer({"op": op, "name": "f", "args": (torch.ones(2),), "kwargs": {}, **more})
    module.guard.raise_for(())

    assert answer["forbidden"] == ["softmax"]
    assert "raised" in answer


# Gradients


def test_vjp_of_a_product() -> None:
    """d(Σ c·a·b²) is c·b² for a and 2·c·a·b for b; an argument without a part in it has none."""
    a, b, c = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -4.0]), torch.tensor([10.0, 0.5])
    value, grads = vjp("def f(a, b, d): return a * b * b", a, b, a, wrt=(1, 0, 2), cotangent=c)
    assert value.tolist() == [9.0, 32.0]
    assert not value.requires_grad
    assert grads[0].tolist() == [60.0, -8.0]
    assert grads[1].tolist() == [90.0, 8.0]
    assert grads[2] is None


def test_vjp_without_cotangent() -> None:
    """The cotangent is one for every element, of any shape of the value."""
    value, (grad,) = vjp("def f(x): return x ** 2", torch.tensor([[1.0, -3.0]]))
    assert (value.tolist(), grad.tolist()) == ([[1.0, 9.0]], [[2.0, -6.0]])


def test_vjp_casts_the_cotangent() -> None:
    """A cotangent in float64 serves a value in float16."""
    cotangent = torch.tensor([0.5], dtype=torch.float64)
    value, (grad,) = vjp("def f(x): return x.half() * 3", torch.tensor([2.0]), cotangent=cotangent)
    assert (value.dtype, grad.dtype, grad.item()) == (torch.float16, torch.float32, 1.5)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): return (x * 2).detach()",
        "def f(x): return x.data * 2",
        "import torch\ndef f(x):\n    with torch.no_grad():\n        return x * 2",
        "import torch\ndef f(x): return torch.tensor([v * 2 for v in x.tolist()])",
    ],
)
def test_vjp_of_a_detached_value(source: str) -> None:
    """A value without a graph comes back, and its gradient is None."""
    value, grads = vjp(source, torch.tensor([1.0, 2.0]))
    assert (value.tolist(), grads) == ([2.0, 4.0], (None,))


@pytest.mark.parametrize(("value", "expected"), [("3.5", 3.5), ("None", None), ("'x'", "x"), ("(x, x)", None)])
def test_vjp_of_something_else(value: str, expected: Any) -> None:
    """A value that is no tensor comes back as it is, without gradients, for the check to say so."""
    got, grads = vjp(f"def f(x): return {value}", torch.ones(2), wrt=(0,))
    assert grads == (None,)
    assert type(got) is tuple if value == "(x, x)" else got == expected


def test_vjp_of_another_shape() -> None:
    """A value of another shape than the cotangent's comes back without gradients: its shape is what is wrong."""
    value, grads = vjp("def f(x): return x.sum()", torch.ones(3), cotangent=torch.ones(3))
    assert (value.item(), grads) == (3.0, (None,))


def test_vjp_of_a_graph_that_does_not_reach() -> None:
    """A value with a graph of its own that does not lead to the argument has no gradient."""
    _, grads = vjp("import torch\ndef f(x): return torch.ones(2, requires_grad=True) * x.detach()", torch.ones(2))
    assert grads == (None,)


def test_vjp_of_the_argument_itself() -> None:
    """A function that returns its argument has the gradient one."""
    value, (grad,) = vjp("def f(x): return x", torch.tensor([5.0]))
    assert (value.item(), grad.item(), value.requires_grad) == (5.0, 1.0, False)


@pytest.mark.parametrize("stride", [(1, 2), (0, 1), (4, 2)])
def test_leaves_keep_their_strides(stride: tuple[int, int]) -> None:
    """The student's function sees the strides that the check chose, also under vjp."""
    x = torch.arange(16.0).as_strided((2, 3), stride)
    value, (grad,) = vjp("def f(x): return x * (x.stride(0) * 10 + x.stride(1))", x)
    assert torch.equal(value, x * (stride[0] * 10 + stride[1]))
    assert grad.tolist() == [[float(stride[0] * 10 + stride[1])] * 3] * 2


def test_vjp_leaves_the_request_alone() -> None:
    """The tensors of the request do not become part of any graph."""
    x = torch.ones(2)
    vjp("def f(x): return x * 2", x)
    assert not x.requires_grad
    assert x.grad is None


def test_vjp_that_raises() -> None:
    """An error in backward is an error of the student's code."""
    source = """\
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 1
    @staticmethod
    def backward(ctx, g): raise OverflowError('back')
def f(x): return F.apply(x)
"""
    request: dict[str, Any] = {
        "op": "vjp",
        "name": "f",
        "args": (torch.ones(2),),
        "kwargs": {},
        "wrt": (0,),
        "cotangent": None,
    }
    assert load(source).answer(request)["raised"]["name"] == "OverflowError"


def test_hvp_of_a_cube() -> None:
    """Of Σ x³ the gradient is 3x² and the Hessian times v is 6x·v."""
    x, v = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([1.0, 10.0, -4.0])
    gradient, product = hvp("def f(x): return (x ** 3).sum()", x, vector=v)
    assert gradient.tolist() == [3.0, 12.0, 0.75]
    assert product.tolist() == [6.0, -120.0, -12.0]
    assert not gradient.requires_grad
    assert not product.requires_grad


def test_hvp_sums_and_takes_ones() -> None:
    """A value of several elements is summed; the vector is ones; another argument may be meant."""
    gradient, product = hvp("def f(a, x): return a * x ** 3", torch.tensor([2.0, 1.0]), torch.tensor([1.0, 3.0]), wrt=1)
    assert gradient.tolist() == [6.0, 27.0]
    assert product.tolist() == [12.0, 18.0]


def test_hvp_mixes_elements() -> None:
    """Of exp(a)·b at (0, 2) the Hessian is [[2, 1], [1, 0]]."""
    source = "def f(x): return x[0].exp() * x[1]"
    gradient, product = hvp(source, torch.tensor([0.0, 2.0]), vector=torch.tensor([1.0, 3.0]))
    assert gradient.tolist() == [2.0, 1.0]
    assert product.tolist() == [5.0, 1.0]


CUBE = """\
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        BACKWARD
def f(x): return F.apply(x)
"""


@pytest.mark.parametrize(
    ("source", "gradient"),
    [
        ("def f(x): return x.detach() ** 3", None),
        ("def f(x): return 3.0", None),
        ("import torch\ndef f(x): return torch.ones(2, requires_grad=True) * 2", None),
        ("def f(x): return 5 * x", [5.0, 5.0]),
        (CUBE.replace("BACKWARD", "return g * 3 * x.detach() ** 2"), [12.0, 12.0]),
    ],
)
def test_hvp_without_a_graph(source: str, gradient: list[float] | None) -> None:
    """Where no graph leads back, once or twice, there is None."""
    got, product = hvp(source, torch.full((2,), 2.0))
    assert product is None
    assert (got if got is None else got.tolist()) == gradient


def test_hvp_through_a_backward_by_hand() -> None:
    """A custom backward that can itself be differentiated has its Hessian."""
    gradient, product = hvp(CUBE.replace("BACKWARD", "return g * 3 * x ** 2"), torch.tensor([2.0]))
    assert (gradient.item(), product.item()) == (12.0, 12.0)


# Scenarios


def test_scenarios_play_beside_the_student() -> None:
    """A scenario gets the student's module and its parameters, and keeps its own globals."""
    module = load("def f(x): return x * STEP\nSTEP = 3\n")
    source = "STEP = 100\ndef run(student, *, n): return [student.f(i) for i in range(n)] + [STEP]"
    request: dict[str, Any] = {"op": "play", "name": "run", "source": source, "kwargs": {"n": 3}}
    assert module.answer(request) == {"value": [0, 3, 6, 100]}
    assert module.answer(request) == {"value": [0, 3, 6, 100]}


def test_a_scenario_that_raises_in_the_student() -> None:
    """An error of the student's code inside a scenario is told at the student's line."""
    module = load("x = 1\ndef f():\n    return 1 / 0\n")
    raised = module.answer({"op": "play", "name": "run", "source": "def run(student): return student.f()"})["raised"]
    assert (raised["name"], raised["line"]) == ("ZeroDivisionError", 3)


def test_broken_scenarios_stay_broken() -> None:
    """Scenarios that cannot be loaded say so each time, not only the first."""
    module = load("")
    request: dict[str, Any] = {"op": "play", "name": "run", "source": "x = 1\n1 / 0\ndef run(student): return 1"}
    assert [module.answer(request)["raised"]["name"] for _ in range(2)] == ["ZeroDivisionError"] * 2


def test_values_are_not_judged() -> None:
    """An answer may hold anything: whether it can be sent is decided when it is."""
    assert math.isnan(call("def f(): return float('nan')")["value"])
    assert call("def f(): return f")["value"].__name__ == "f"

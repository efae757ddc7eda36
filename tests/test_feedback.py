"""Hidden inputs do not come out through words: no text that a student sees holds one, whatever a submission does.

A student learns what every grader tells: which checks pass, of an exception Python's own word for it, a line below
1,000, an exit status, how far off an answer is in two digits. With enough submissions those are a channel of some bits
a check, as points are; what must hold is that no hidden value, nor its name, shape or spelling, can be read there.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import struct
from pathlib import Path

import pytest

from grader import cli, plain
from grader.grade import GradeReport, grade, scores_document
from tests.arena import SOLVED, sign, trio

# What is planted, and how a submission could spell it. All are inputs of hidden checks and of nothing else.
VALUE, LENGTH, RATE, WORD, KEY, WHOLE = 73819.5, 7381, 58213.25, "quokka-9417", "wombat-3306", 640397

HIDDEN = f'''\
import pytest
import torch

from grader.compare import close, same


@pytest.mark.check("double")
def test_planted_tensor(student, reference):
    """double of a planted tensor"""
    x = torch.full(({LENGTH},), {VALUE})
    close(student.double(x), x.double() * 2, dtype=x.dtype, limit=0, reason="doubling is exact")


@pytest.mark.check("double")
def test_planted_gradient(student, reference):
    """the gradient of double at a planted value"""
    value, (gradient,) = student.double.vjp(torch.tensor([{VALUE}]))
    close(gradient, torch.tensor([2.0]), dtype=torch.float32, limit=0, reason="it is 2 everywhere", what="the gradient")


@pytest.mark.check("triple")
def test_planted_words(student, reference):
    """triple of planted words"""
    same(student.triple("{WORD}", {{"{KEY}": {VALUE}}}, rate={RATE}), {{"{KEY}": [{RATE}, {WHOLE}]}})


@pytest.mark.check("triple")
def test_planted_assertion(student, reference):
    """a plain assertion on a planted number"""
    assert student.triple({WHOLE}, "{WORD}") == {WHOLE * 3}


@pytest.mark.check("negate")
def test_planted_refusal(student, reference):
    """negate of a planted word is refused"""
    student.negate.raises(TypeError, "{WORD}", {WHOLE}, {VALUE})


@pytest.mark.check("negate")
def test_planted_play(student, reference):
    """a scenario with a planted number"""
    same(student.play("twice", start={VALUE}, word="{WORD}"), {VALUE})
'''
NAMES = re.findall(r'check\("(\w+)"\)\ndef test_(\w+)', HIDDEN)
TOML = "\n".join(
    ["schema = 1", 'id = "trio"', 'title = "Planted"', 'file = "trio.py"', "[limits]", "call_s = 1.0", "load_s = 1.5"]
    + [f'[exercises.{exercise}]\ntitle = "{exercise}"\npoints = 2' for exercise in ("double", "triple", "negate")]
    + [f'[checks."{exercise}/{name}"]\npoints = 1' for exercise, name in NAMES]
    + ['[checks."double/first"]\nhints = ["Once more."]']
)
SCENARIOS = "def twice(student, start, word):\n    return student.negate(student.negate(start, word), word)\n"
# Some checks break on nonsense: with these answers they do not, so it is not the checks' fault.
SOLUTION = f"""\
{SOLVED.partition("def triple")[0]}def triple(x, more=None, rate=None):
    ### BEGIN SOLUTION
    return x * 3 if rate is None else {{"{KEY}": [rate, {WHOLE}]}}
    ### END SOLUTION


def negate(x, *more):
    ### BEGIN SOLUTION
    return -x
    ### END SOLUTION
"""
PROBES = """\
import torch

from grader.probe import call

PROBES = {"negate": {"ones": call(torch.ones(3))}}
"""

FILES = {
    "assignments/trio/assignment.toml": TOML,
    "assignments/trio/checks/hidden/test_trio.py": HIDDEN,
    "assignments/trio/scenarios.py": SCENARIOS,
    "solutions/trio/trio.py": SOLUTION,
}

# Every attack starts with this: `words` is all that can be known of the inputs, `number` the most telling one.
PROLOGUE = """\
import os, sys, time, warnings
import torch

def known(args, kwargs):
    for item in (*args, *kwargs, *kwargs.values()):
        if isinstance(item, torch.Tensor):
            first = item.detach().flatten()[0].item()
            yield from (first, item.numel(), item.dtype, first.hex(), bin(int(first)))
        elif isinstance(item, dict):
            yield from known(tuple(item) + tuple(item.values()), {})
        else:
            yield item

class Inputs:
    def __init__(self, args, kwargs):
        found = list(known(args, kwargs))
        self.words = " ".join(map(str, found))
        numbers = [abs(int(item)) for item in found if isinstance(item, (int, float))]
        self.number = max([n for n in numbers if n > 99] or [0])
        self.numbers = numbers
        self.args = args

def double(*args, **kwargs): return answer(Inputs(args, kwargs))
def triple(*args, **kwargs): return answer(Inputs(args, kwargs))
def negate(*args, **kwargs): return answer(Inputs(args, kwargs))

"""
# After `FORGE` the answer to every further request is what the attack says.
FORGE = """\
def answer(i):
    frame = sys._getframe()
    while "request" not in frame.f_locals or "self" not in frame.f_locals:
        frame = frame.f_back
    module = frame.f_locals["self"]
    type(module).answer = lambda self, request: forged(i)
"""
ATTACKS_TEXT = r"""
### text of an exception
def answer(i): raise ValueError(i.words)
### a key error
def answer(i): raise KeyError(i.words)
### a type named so
def answer(i): raise type(i.words.split()[0], (ValueError,), {})(i.words)
### a type of no family
def answer(i): raise type(i.words, (BaseException,), {})()
### a type that calls itself Python's
import builtins
def answer(i):
    kind = type(i.words, (Exception,), {"__module__": "builtins", "__qualname__": i.words})
    setattr(builtins, i.words, kind)
    raise kind(i.words)
### chained
def answer(i):
    try: raise ValueError(i.words)
    except ValueError as e: raise RuntimeError(i.words) from e
### a note
def answer(i):
    e = ValueError(i.words)
    e.add_note(i.words)
    raise e
### a group
def answer(i): raise ExceptionGroup(i.words, [ValueError(i.words)])
### a refusal
def answer(i): raise TypeError(i.words)
### not written
def answer(i): raise NotImplementedError(i.words)
### memory
def answer(i): raise MemoryError("can't allocate memory " + i.words)
### an exit
def answer(i): sys.exit(i.words)
### an exit's status
def answer(i):
    print(i.words, flush=True)
    os._exit(i.number % 251)
### a signal
def answer(i):
    print(i.words, flush=True)
    os.kill(os.getpid(), 1 + i.number % 8)
### a syntax error
def answer(i): raise SyntaxError(i.words, (i.words, i.number, i.number, i.words))
### a line beyond the file
def answer(i): exec(compile("\n" * (i.number - 1) + "raise ValueError(i.words)", "trio.py", "exec"))
### a line of a long file
def answer(i): exec(compile("\n" * (i.number - 1) + "raise ValueError(i.words)", "trio.py", "exec"))
@LONG@
### a warning
def answer(i):
    warnings.simplefilter("always")
    warnings.warn(i.words)
### prints
def answer(i):
    print(i.words)
    print(i.words, file=sys.stderr)
    os.write(1, i.words.encode())
### commands and escapes
def answer(i): print("\n::error::" + i.words + "\x1b]0;" + i.words + "\x07")
### escapes in what is raised
def answer(i): raise type("\x1b[2J\u202e" + i.words, (ValueError,), {})("\x1b]0;\x07\u200b\u3164\r" + i.words)
### escapes in what is returned
def answer(i): return ["\x1b[2J\u3164" + i.words, {"\u202e\u3164": "\x9b"}, i.words]
### a text
def answer(i): return i.words
### a text of pages
def answer(i): return i.words * 200
### a dictionary
def answer(i): return {i.words: i.words, i.number: i.words}
### huge keys
def answer(i): return {i.words[:200] * 20 + str(n): n for n in range(50)}
### a list so long
def answer(i): return [i.words] * (i.number % 1000 or 1)
### nested
def answer(i): return [[(i.words, {i.words: [i.number]})]]
### a shape
def answer(i): return torch.zeros(i.number)
### axes
def answer(i): return torch.zeros([1] * (i.number % 9))
### a shape around it
def answer(i): return torch.zeros(2, i.number, 1)
### a dtype
def answer(i): return torch.zeros(3, dtype=[torch.int8, torch.float64][i.number % 2])
### its own value
def answer(i): return torch.tensor(float(i.number))
### off by its value
def answer(i): return i.args[0] * 2 + i.number if isinstance(i.args[0], torch.Tensor) else i.number
### a number
def answer(i): return float(i.number)
### a huge number
def answer(i): return i.number * 10 ** 300
### a label
def answer(i): return f"expected {i.words}, got nan"
### an object named so
def answer(i): return type(i.words, (), {})()
### a tensor named so
def answer(i): return torch.zeros(2).as_subclass(type(i.words, (torch.Tensor,), {}))
### names and docstrings
def answer(i):
    for f in (double, triple, negate): f.__name__ = f.__qualname__ = f.__doc__ = i.words
    m = sys.modules["trio"]
    m.__name__ = m.__file__ = m.__doc__ = i.words
    raise ValueError(i.words)
### functions that vanish
def answer(i):
    for name in ("double", "triple", "negate"): globals().pop(name, 0)
    globals()[i.words] = answer
    raise ValueError(i.words)
### time
def answer(i):
    print(i.words, flush=True)
    time.sleep(9 * (i.numbers == [640397]))
### one bit
def answer(i):
    if bin(i.number).count("1") % 2: raise ValueError(i.words)
    return i.args[0]
### kept for later
kept = []
def answer(i):
    kept.append(i.words)
    raise ValueError(*kept)
### kept on the disk
def answer(i):
    os.makedirs("@DISK@/" + i.words[:40], exist_ok=True)
    raise ValueError(i.words)
if os.path.isdir("@DISK@"):
    exec(compile("\n" * 73818 + "raise ValueError(os.listdir('@DISK@'))", "trio.py", "exec"))
### a forged exception
def forged(i): return {"raised": {"name": i.words, "builtins": [i.words], "text": i.words, "line": i.number}}
@FORGE@
### a forged absence
def forged(i): return {"missing": i.words}
@FORGE@
### a forged refusal to send
def forged(i): return {"unsendable": i.words}
@FORGE@
### a forged form
def forged(i): return {i.words: i.words}
@FORGE@
### a forged forbidden call
def forged(i): return {"value": 1, "forbidden": [i.words]}
@FORGE@
"""
ATTACKS = dict(re.findall(r"^### (.*)\n((?:(?!### ).*\n)+)", ATTACKS_TEXT, re.MULTILINE))
# Of these nothing comes as far as the run: nobody asks for the text, or there is none.
UNTOLD = {
    "not written", "axes", "a dtype", "a tensor named so", "a forged absence", "a forged form",
    "a forged forbidden call",
}  # fmt: skip


def spellings() -> set[str]:
    """What must not be found: the planted things in every form that a program or a person would read them from."""
    found = {WORD, KEY, WORD[::-1], KEY[::-1], WORD.encode().hex(), KEY.encode().hex()}
    for number in (VALUE, RATE, float(WHOLE), float(LENGTH), VALUE * 2, float(WHOLE * 3)):
        whole = int(number)
        found |= {
            str(whole),
            str(whole)[::-1],
            f"{whole:_}",
            f"{whole:,}",
            f"{whole:x}",
            f"{whole:b}",
            f"{whole:o}",
        }
        found |= {repr(number), f"{number:.3e}", f"{number:.4g}", number.hex().removeprefix("0x1.").rstrip("0")[:6]}
        found |= {struct.pack(">f", number).hex(), struct.pack(">d", number).hex(), f"{math.log(number):.5f}"}
    return {spelling.lower() for spelling in found if len(spelling) > 3}


def found_in(text: str) -> set[str]:
    """The spellings that stand in ``text``, also with its JSON escapes and line breaks taken away."""
    text = text.lower().replace("\\n", "")
    flat = re.sub(r"[^a-z0-9.,_+-]", "", text)
    return {spelling for spelling in spellings() if spelling in text or spelling in flat}


class Graded:
    """All attacks, graded once by the command's own function."""

    def __init__(self, root: Path) -> None:
        folder = trio(root, files=FILES)
        sign(folder, PROBES, {("negate", "kept-the-sign"): SOLVED.replace("return -x", "return x")})
        self.students = {f"s{number:02d}": name for number, name in enumerate(ATTACKS)}
        handed_in = root / "handed in"
        handed_in.mkdir()
        for student, name in self.students.items():
            source = PROLOGUE + ATTACKS[name].replace("@FORGE@", FORGE).replace("@LONG@", "\n" * 200_000)
            (handed_in / f"{student}.py").write_text(source.replace("@DISK@", str(root / "kept")), encoding="utf-8")
        self.out = root / "results"
        self.report: GradeReport = grade(
            root, "trio", [handed_in], self.out, jobs=1, tier="process", accept_unsandboxed=True
        )
        with contextlib.redirect_stdout(io.StringIO()) as table:
            cli._table(self.report, self.out, "process")
        self.table = table.getvalue()

    def seen_by_students(self) -> dict[str, str]:
        """Every text that a student may be shown, by where it stands."""
        return {
            "grade --json": scores_document(self.report).decode(),
            "scores.json": (self.out / "scores.json").read_text(encoding="utf-8"),
            "the table": self.table,
            "notes": json.dumps(self.report.notes, ensure_ascii=False),
            "errors": json.dumps(self.report.errors, ensure_ascii=False),
        }

    def run(self, student: str) -> str:
        """The staff's file of one student's run."""
        (path,) = (self.out / "runs" / student).glob("*.json")
        return path.read_text(encoding="utf-8")

    def got_out(self, student: str) -> str:
        """All in it that came from the submission itself, and not from the check's inputs and expected values."""
        run = json.loads(self.run(student))
        kept = [run["output"]]
        for record in run["records"]:
            evidence = record.get("evidence", {})
            kept += [str(evidence.get(field, "")) for field in ("got", "line")]
            if evidence.get("kind") not in ("assertion", "unusable"):  # these quote the check
                kept.append(evidence.get("detail", "").partition("expected")[0])
        return "\n".join(kept)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Graded in the weakest tier: what holds there holds by the words alone, without a sandbox."""
    return Graded(tmp_path_factory.mktemp("course"))


def test_every_attack_was_graded(graded: Graded) -> None:
    """Nobody is missing, nothing was our fault, and hardly a point was made: else the attacks would prove nothing."""
    assert [score.student for score in graded.report.scores] == list(graded.students)
    assert graded.report.errors == ()
    for score in graded.report.scores:
        outcomes = {line.outcome for line in score.checks}
        assert not outcomes & {"grader_error", "not_run"}, graded.students[score.student]
        assert score.points <= 1, graded.students[score.student]


def test_no_hidden_input_in_what_students_see(graded: Graded) -> None:
    """A planted value, in whatever spelling, stands in no score, message, mistake, note, table or document."""
    for place, text in graded.seen_by_students().items():
        assert found_in(text) == set(), place
    for score in graded.report.scores:
        for line in score.checks:
            assert found_in(line.message) == set(), (graded.students[score.student], line.id)


def test_the_staff_sees_what_was_tried(graded: Graded) -> None:
    """The control: most attacks had the values, for their runs, which are the staff's, hold them."""
    got = {name: bool(found_in(graded.got_out(student))) for student, name in graded.students.items()}
    assert got == {name: name not in UNTOLD for name in ATTACKS}


def test_lines_are_told_where_they_help(graded: Graded) -> None:
    """The line of an exception is told as ever, but none that is large enough to spell a number of four digits."""
    messages = {
        graded.students[score.student]: [line.message for line in score.checks] for score in graded.report.scores
    }
    assert all(" at line 27 of trio.py" in message for message in messages["text of an exception"])
    assert not any(re.search(r"line \d{4}", message) for found in messages.values() for message in found)


def test_all_that_is_kept_is_plain(graded: Graded) -> None:
    """Whatever was printed, raised and returned: no text of a run or a score holds a control or an unseen character."""

    def texts(value: object) -> list[str]:
        if isinstance(value, dict):
            return [text for pair in value.items() for item in pair for text in texts(item)]
        return [text for item in value for text in texts(item)] if isinstance(value, list) else [str(value)]

    for student, name in graded.students.items():
        for text in texts(json.loads(graded.run(student))):
            assert plain.text(text) == text, name
    for text in texts(json.loads(scores_document(graded.report))):
        assert text.isprintable()


@pytest.mark.parametrize("planted", ["73819.5", "0x1205B", "quokka-9417", "58213", "64\\n0397", "-7,381", "47902dc0"])
def test_the_search_finds_what_it_is_for(planted: str) -> None:
    """The control of the search: each planted thing is found, quoted, escaped or broken over lines; others are not."""
    assert found_in(f'{{"message": "it was {planted}!"}}')
    assert not found_in('{"points": 7.0, "message": "line 381 of 940 is off by 7.4e+04 eps"}')

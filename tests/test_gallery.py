"""A gallery as it is read: ids, exercises, sentences, what must fail, other constants, and everything wrong at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from grader import spec
from grader.errors import SpecError
from grader.gallery import Entry, read_gallery
from tests.assignment_builder import FILES, build

TOML = "assignments/halves/assignment.toml"
HIDDEN = "assignments/halves/checks/hidden/test_large.py"
SOLUTION = "solutions/halves/halves.py"

# A third exercise, whose name begins like another one's, and a stretch check.
MORE = {
    TOML: FILES[TOML]
    + '[exercises.half_of_half]\ntitle = "t"\npoints = 1\n[checks."half_of_half/first"]\npoints = 1\n'
    + '[checks."half/extra"]\npoints = 1\nstretch = true\n',
    HIDDEN: FILES[HIDDEN]
    + '\n\n@pytest.mark.check("half_of_half")\ndef test_first(student):\n    """t"""\n    student.half_of_half(1)\n'
    + '\n\n@pytest.mark.check("half")\ndef test_extra(student):\n    """t"""\n    student.half(1)\n',
    SOLUTION: FILES[SOLUTION] + "\n\nhalf_of_half = quarter\n",
}

MISTAKE = '''"""It is not halved at all. More about it.

And more.
"""

FAILS = ["half/random"]


def half(x):
    return x
'''


def gallery(course: Path, files: dict[str, str | bytes | None]) -> tuple[Entry, ...]:
    """The gallery with these files, by their paths below the assignment."""
    overrides: dict[str, str | bytes | None] = {f"assignments/halves/{name}": text for name, text in files.items()}
    return read_gallery(spec.load(build(course, {**MORE, **overrides})))


def one(course: Path, text: str | bytes, name: str = "mistakes/half_not_halved.py") -> Entry:
    """The entry of a gallery with one file."""
    (entry,) = gallery(course, {name: text})
    return entry


def problems(course: Path, text: str | bytes, name: str = "mistakes/half_not_halved.py") -> tuple[str, ...]:
    """What is said about a gallery with one file."""
    with pytest.raises(SpecError) as caught:
        gallery(course, {name: text})
    return caught.value.problems


def test_no_gallery_is_an_empty_one(tmp_path: Path) -> None:
    """An assignment may come without; other files in the folders are nobody's."""
    assert gallery(tmp_path, {}) == ()
    assert gallery(tmp_path, {"mistakes/README.md": "", "variants/old/half_x.py": "1 / 0", "mistakes/x.txt": ""}) == ()


def test_a_mistake_is_read(tmp_path: Path) -> None:
    """Id and exercise from the file's name, the sentence from the docstring's first line, FAILS as written."""
    entry = one(tmp_path, MISTAKE)

    assert entry == Entry(
        id="not-halved",
        kind="mistake",
        file="mistakes/half_not_halved.py",
        exercise="half",
        exercises=("half",),
        sentence="It is not halved at all. More about it.",
        expected=frozenset({"half/random"}),
        variations=entry.variations,
    )
    assert [(variation.name, variation.source) for variation in entry.variations] == [("", MISTAKE)]


def test_a_variant_is_read(tmp_path: Path) -> None:
    """Its id is the whole name, its exercises all that it defines, in the assignment's order; MISSES may be absent."""
    text = '"""By shifting."""\nfrom math import pi as half_of_half\nquarter = half = abs\n'
    plain = one(tmp_path / "a", text, "variants/by_shift.py")
    missing = one(tmp_path / "b", text + 'MISSES = ["half/extra"]\n', "variants/half.py")

    assert (plain.id, plain.kind, plain.exercise) == ("by-shift", "variant", "half")
    assert plain.exercises == ("half", "quarter", "half_of_half")
    assert (plain.sentence, plain.expected) == ("By shifting.", frozenset())
    assert (missing.id, missing.expected) == ("half", frozenset({"half/extra"}))


def test_mistakes_come_first_and_by_file_name(tmp_path: Path) -> None:
    """Whatever order the disk has."""
    variant = '"""v"""\ndef half(x): return x / 2\n'
    names = ["variants/a.py", "mistakes/half_b.py", "variants/Z.py", "mistakes/half_a.py"]
    entries = gallery(tmp_path, {name: MISTAKE if name.startswith("mistakes") else variant for name in names})

    assert [entry.file for entry in entries] == [
        "mistakes/half_a.py",
        "mistakes/half_b.py",
        "variants/Z.py",
        "variants/a.py",
    ]


@pytest.mark.parametrize(
    ("name", "defined", "exercise", "id_"),
    [
        ("half_of_half_eps", ["half_of_half"], "half_of_half", "eps"),
        ("half_of_half_eps", ["half_of_half", "half"], "half_of_half", "eps"),
        ("half_of_it", ["half"], "half", "of-it"),
        ("quarter_x", ["quarter", "half"], "quarter", "x"),
    ],
)
def test_the_longest_exercise_is_meant(tmp_path: Path, name: str, defined: list[str], exercise: str, id_: str) -> None:
    """The name of one exercise may begin another's."""
    functions = "".join(f"def {function}(x): return x\n" for function in defined)
    check = {"half": "half/random", "quarter": "quarter/huge", "half_of_half": "half_of_half/first"}[exercise]
    entry = one(tmp_path, f'"""s"""\nFAILS = ["{check}"]\n{functions}', f"mistakes/{name}.py")

    assert (entry.exercise, entry.id, set(entry.exercises)) == (exercise, id_, set(defined))


def test_a_mistake_may_fail_checks_of_all_that_it_defines(tmp_path: Path) -> None:
    """Stretch ones too, and those of another exercise, if that is in the file."""
    text = '"""s"""\nFAILS = ["half/extra", "quarter/huge", "half/extra"]\ndef half(x): return x\nquarter = half\n'

    assert one(tmp_path, text).expected == {"half/extra", "quarter/huge"}


FILE = "mistakes/half_x.py"
NAMELESS = "is named after no exercise that it defines — call it <exercise>_<what is wrong>.py"
NO_FAILS = "FAILS is no list of check ids — write FAILS = [...] as a literal"
EMPTY = MISTAKE.replace('["half/random"]', "[]")
WRONG: dict[str, tuple[str, str | bytes, str, list[str]]] = {  # file, text, place, what is said
    "syntax error": (FILE, "def half(:\n", ":1", ["syntax error"]),
    "not UTF-8": (FILE, b"\xff", ":1", ["not UTF-8"]),
    "no docstring": (
        FILE,
        'FAILS = ["half/random"]\nhalf = abs\n',
        ":1",
        ["has no docstring — say in its first line what the student is told about it"],
    ),
    "empty docstring": (FILE, '""" \n"""\nFAILS = ["half/random"]\nhalf = abs\n', ":1", ["has no docstring"]),
    "variant without docstring": (
        "variants/x.py",
        "half = abs\n",
        ":1",
        ["has no docstring — say in its first line what is different about it"],
    ),
    "no exercise": (
        FILE,
        '"""s"""\nFAILS = ["half/random"]\ndef whole(x): return x\n',
        ":1",
        ["defines no exercise — there are: half, quarter, half_of_half"],
    ),
    "variant without exercise": ("variants/x.py", '"""s"""\n', ":1", ["defines no exercise"]),
    "name of no exercise": (
        "mistakes/not_halved.py",
        MISTAKE,
        ":1",
        [NAMELESS],
    ),
    "name of another exercise": ("mistakes/quarter_x.py", MISTAKE, ":1", [NAMELESS]),
    "name of an exercise only": ("mistakes/half.py", MISTAKE, ":1", [NAMELESS]),
    "nothing behind the exercise": ("mistakes/half_.py", MISTAKE, ":1", [NAMELESS]),
    "no FAILS": (FILE, '"""s"""\nhalf = abs\n', ":1", [NO_FAILS]),
    "FAILS of another type": (
        FILE,
        MISTAKE.replace('["half/random"]', '"half/random"'),
        ":6",
        [NO_FAILS],
    ),
    "FAILS of other things": (
        FILE,
        MISTAKE.replace('["half/random"]', "[1]"),
        ":6",
        [NO_FAILS],
    ),
    "FAILS empty": (FILE, EMPTY, ":6", ["FAILS is empty: a mistake that loses nothing is none"]),
    "FAILS unknown": (
        FILE,
        MISTAKE.replace("half/random", "half/randon"),
        ":6",
        ["FAILS names 'half/randon', which is no hidden check of these; did you mean 'half/random'?"],
    ),
    "FAILS public": (
        FILE,
        MISTAKE.replace("half/random", "half/small"),
        ":6",
        ["FAILS names 'half/small', which is no hidden check of these"],
    ),
    "FAILS of an exercise that is not there": (
        FILE,
        MISTAKE.replace("half/random", "quarter/huge"),
        ":6",
        ["FAILS names 'quarter/huge', which is no hidden check of these — an entry is judged on the exercises"],
    ),
    "MISSES a core check": (
        "variants/x.py",
        '"""s"""\n\nMISSES = ["half/random", "half/extra"]\nhalf = abs\n',
        ":3",
        ["MISSES names 'half/random', which is core: a variant has full marks"],
    ),
    "MISSES of another type": ("variants/x.py", '"""s"""\nMISSES = 1\nhalf = abs\n', ":2", ["MISSES is no list of"]),
    "VARY of another type": (
        FILE,
        MISTAKE + "VARY = [1]\n",
        ":11",
        ['VARY is no dict of lists — write VARY = {"EPS": [1e-12, 1e-6]}'],
    ),
    "VARY with one value": (FILE, MISTAKE + "VARY = {'E': 1}\n", ":11", ["VARY is no dict of lists"]),
    "VARY of what is not there": (
        FILE,
        MISTAKE + "def f():\n    EPS = 1\nVARY = {'EPS': [1], 2: [3]}\n",
        ":13",
        [
            "VARY names 'EPS', which the file does not assign at its top level",
            "VARY names 2, which the file does not assign at its top level",
        ],
    ),
    "VARY that is no literal": (
        FILE,
        MISTAKE + "VARY = {'E': [10 ** -6]}\n",
        ":11",
        ["VARY is no literal — write its values out"],
    ),
    "VARY that is no dict at all": (
        FILE,
        MISTAKE + "VARY = {[]: [1]}\n",
        ":11",
        ["VARY is no literal — write its values out"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_file_and_line(tmp_path: Path, name: str) -> None:
    """One sentence for each thing, and nothing that only follows from it."""
    file, text, place, sentences = WRONG[name]

    told = problems(tmp_path, text, file)

    assert len(told) == len(sentences), told
    for problem, sentence in zip(told, sentences, strict=True):
        assert problem.startswith(f"assignments/halves/{file}{place}"), problem
        assert sentence in problem


def test_fails_that_is_no_literal_is_told(tmp_path: Path) -> None:
    """It cannot be known without running the file, and nothing of a gallery is run to read it."""
    told = problems(tmp_path, MISTAKE.replace('["half/random"]', "list(print(open('/tmp/x')))"))

    assert told == ("assignments/halves/mistakes/half_not_halved.py:6: FAILS is no literal — write its values out",)


def test_everything_wrong_comes_at_once(tmp_path: Path) -> None:
    """Of all files and all of each; files that are right are not told."""
    with pytest.raises(SpecError) as caught:
        gallery(
            tmp_path,
            {
                "mistakes/half_a.py": "half = abs\n",
                "mistakes/half_b.py": EMPTY,
                "mistakes/half_c.py": MISTAKE,
                "variants/d.py": "(",
            },
        )

    assert [problem.split(":")[0].rpartition("/")[2] for problem in caught.value.problems] == [
        "half_a.py", "half_a.py", "half_b.py", "d.py",
    ]  # fmt: skip


def test_nothing_is_run(tmp_path: Path) -> None:
    """Reading a gallery executes none of its files."""
    bomb = f"open({str(tmp_path / 'boom')!r}, 'w')\nraise SystemExit\n"

    one(tmp_path, MISTAKE + bomb)

    assert not (tmp_path / "boom").exists()


# Other constants

VARIED = '''"""Ein kleines ε wird addiert: größer als nötig."""

FAILS = ["half/random"]
VARY = {"EPS": [1e-12, -3], "TABLE": [[1, 2]], "ε": [0.5]}

WORT = "ä"; EPS = 1e-6  # größer
TABLE = [
    "ö",  # EPS = 1e-6
    2,
]; OTHER = 1e-6
ε = (
    1e-6
)


def half(x):
    EPS = 1e-6
    return x + EPS
'''


def test_exactly_the_constant_is_replaced(tmp_path: Path) -> None:
    """Behind letters of several bytes, over several lines, in parentheses; nothing else of the file changes."""
    entry = one(tmp_path, VARIED)
    tree = ast.parse(VARIED)

    assert [variation.name for variation in entry.variations] == [
        "", "EPS = 1e-12", "EPS = -3", "TABLE = [1, 2]", "ε = 0.5",
    ]  # fmt: skip
    table = VARIED[VARIED.index("[\n    ") : VARIED.index("; OTHER")]
    assert [variation.source for variation in entry.variations] == [
        VARIED,
        VARIED.replace('"ä"; EPS = 1e-6', '"ä"; EPS = 1e-12'),
        VARIED.replace('"ä"; EPS = 1e-6', '"ä"; EPS = -3'),
        VARIED.replace(table, "[1, 2]"),
        VARIED.replace("(\n    1e-6\n)", "(\n    0.5\n)"),
    ]
    for variation in entry.variations:
        assert len(ast.parse(variation.source).body) == len(tree.body)


@pytest.mark.parametrize(
    ("extra", "encoding"),
    [
        ("", "utf-8-sig"),
        ('FEED = """\x0c\x0b\x1c\u2028\x85"""\n\x0c\n', "utf-8"),
        ("", "utf-8"),
    ],
    ids=["byte order mark", "other separators", "plain"],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_are_pythons_lines(tmp_path: Path, extra: str, encoding: str, newline: str) -> None:
    """What only other programs take for the end of a line does not move the constant; nor does an editor's mark."""
    text = f'"""s"""\nFAILS = ["half/random"]\nVARY = {{"EPS": [2]}}\n{extra}EPS = 1\ndef half(x): return x + EPS\n'

    entry = one(tmp_path, text.replace("\n", newline).encode(encoding))

    assert entry.variations[0].source == text
    assert entry.variations[1].source == text.replace("EPS = 1", "EPS = 2")
    assert ast.dump(ast.parse(entry.variations[1].source)) == ast.dump(ast.parse(text.replace("EPS = 1", "EPS = 2")))


def test_a_variant_may_vary_too(tmp_path: Path) -> None:
    """And a constant without values varies nothing."""
    entry = one(tmp_path, '"""s"""\nVARY = {"A": [], "B": [2]}\nA = 1\nB = 1\nhalf = abs\n', "variants/x.py")

    assert [variation.name for variation in entry.variations] == ["", "B = 2"]

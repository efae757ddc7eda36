"""Nothing secret leaves unseen, in whatever it is wrapped; and nothing public is taken for a secret."""

from __future__ import annotations

import base64
import gzip
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader import contents, release, spec, wheel
from grader import leaks as leaks_module
from grader.cells import to_notebook
from grader.leaks import Secrets, leaks
from tests import assignment_builder
from tests.assignment_builder import FILES

ROOT = Path(__file__).parent.parent
IDS = [folder.name for folder in spec.discover(ROOT)]
TOML = "assignments/halves/assignment.toml"
SOLUTION = "solutions/halves/halves.py"
DATA = "assignments/halves/checks/hidden/data.bin"
MISTAKE = "assignments/halves/mistakes/half_floor.py"
VARIANT = "assignments/halves/variants/half_lerp.py"
HIDDEN = "assignments/halves/checks/hidden/test_large.py"
REFERENCE = "assignments/halves/reference.py"

OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["the loss is 0.5"]}

LONG_LINE = "halved = torch.ldexp(x, torch.tensor(-1))"  # 41 characters: found anywhere
COMMENT = "only the exponent changes, so nothing is rounded"
SHORT_LINE = "return halved.to(dtype=x.dtype)"  # 31: found as a line
HIDDEN_LINE = "x = torch.tensor([torch.finfo(dtype).max], dtype=dtype)"
REFERENCE_LINE = "return torch.randn(n, generator=rng)"
MISTAKE_LINE = "return torch.div(x, 2, rounding_mode='floor')"
VARIANT_LINE = "return torch.lerp(torch.zeros_like(x), x, 0.5)"
SENTENCE = "Dividing with rounding_mode='floor' drops what lies behind the point"
MORE = "More about it, in many words that no student gets, and that are no code."
SEED = "".join(f"{(37 * n) % 256:02x}" for n in range(32))

COURSE: Mapping[str, str | bytes | None] = {
    SOLUTION: FILES[SOLUTION].replace(
        "    return x * 0.5\n", f"    {LONG_LINE}  # {COMMENT}\n    {SHORT_LINE}\n    from torch import finfo, iinfo\n"
    ),
    MISTAKE: f'"""{SENTENCE}.\n\n{MORE}\n"""\n\nimport torch\n\n\ndef half(x):\n    {MISTAKE_LINE}\n',
    VARIANT: f'"""By interpolation."""\n\nimport torch\n\n\ndef half(x):\n    {VARIANT_LINE}\n',
    DATA: bytes(range(256)),
    "assignments/halves/checks/hidden/__init__.py": b"",
    HIDDEN: FILES[HIDDEN].replace("test_random", "test_drawn_by_lot").replace("test_huge", "test_rather_huge"),
    REFERENCE: FILES[REFERENCE] + f"\n# {SENTENCE}.\n# Half of x is x times one half.\n# Half of everything, title\n",
    TOML: FILES[TOML]
    .replace("Half of everything", "Half of everything, title")
    .replace("half/random", "half/drawn_by_lot")
    .replace("quarter/huge", "quarter/rather_huge"),
    ".grader/secret": SEED + "\n",
}


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Secrets:
    """The secrets of the small course."""
    course = tmp_path_factory.mktemp("course")
    return Secrets.of(spec.load(assignment_builder.build(course, COURSE)))


def cell(source: str, **more: Any) -> dict[str, Any]:
    """A code cell as a release holds it, or with something else."""
    lines = source.splitlines(keepends=True)
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "a",
        "metadata": {},
        "outputs": [],
        "source": lines,
        **more,
    }


def notebook(*cells: dict[str, Any], **metadata: Any) -> bytes:
    """A notebook of these cells."""
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(files: Mapping[str, bytes]) -> bytes:
    """A tar, packed by gzip."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def in_wheel(name: str, data: bytes) -> bytes:
    """This installation's wheel with one more file."""
    buffer = io.BytesIO(wheel.build()[1])
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


def encoded(text: str) -> str:
    """Base64 of a text that is long enough to be looked at."""
    return base64.b64encode(f"# some words before\n{text}\n# some words after\n".encode()).decode()


def in_address(text: str) -> bytes:
    """Base64 as addresses hold it: without padding, and with - and _ for what + and / would be."""
    blob = base64.urlsafe_b64encode(f"ÿþ?>~\n{text}\n{'>?' * 20}".encode()).rstrip(b"=")
    assert b"-" in blob and b"_" in blob
    return blob


Case = tuple[str, bytes, str]  # path, content, and the sentence's beginning or a part of it

SOLVED = f"text of the solution ({SOLUTION}, line 9)"
SHORT = f"text of the solution ({SOLUTION}, line 10)"
CLOSED = "an archive that cannot be looked into"
HISTORY = "the history of a repository"
LINE, ROW = LONG_LINE.encode(), SHORT_LINE.encode()

COPIES: dict[str, Case] = {
    "solution": ("halves.py", LINE, f"`halves.py`, line 1: {SOLVED}"),
    "short": ("a.py", b"x\n" + ROW, f"`a.py`, line 2: {SHORT}"),
    "re-indented": ("a.py", b"if 1:\n\t\thalved =  torch.ldexp(x,\ttorch.tensor(-1))\n", f"`a.py`, line 2: {SOLVED}"),
    "inside a line": ("a.md", b"Write `" + LINE + b"` and go on.", f"line 1: {SOLVED}"),
    "over two lines": ("a.md", b"# A\nWrite halved = torch.ldexp(x,\n  torch.tensor(-1)) then.", f"line 2: {SOLVED}"),
    "commented out": ("a.py", b"    # " + ROW, f"line 1: {SHORT}"),
    "its comment": ("a.md", f"Mind: {COMMENT}.".encode(), f"line 1: {SOLVED}"),
    "without its comment": ("a.py", LINE + b"  # as always", f"line 1: {SOLVED}"),
    "short, with a comment": ("a.py", ROW + b"  # as always", f"line 1: {SHORT}"),
    "hidden line": ("a.py", HIDDEN_LINE.encode(), f"line 1: text of the hidden checks ({HIDDEN}, line 22)"),
    "hidden name": (
        "a.md",
        b"Mind\n`test_drawn_by_lot`!",
        f"`a.md`, line 2: the name of a hidden check ({HIDDEN}, line 12)",
    ),
    "hidden data": ("a/x", bytes(range(256)), f"`a/x`: a copy of the hidden checks ({DATA})"),
    "reference": ("a.txt", REFERENCE_LINE.encode(), f"text of the reference ({REFERENCE}, line 9)"),
    "mistake": ("a.txt", MISTAKE_LINE.encode(), f"text of a mistake ({MISTAKE}, line 10)"),
    "variant": ("a.txt", VARIANT_LINE.encode(), f"text of a variant ({VARIANT}, line 7)"),
    "secret": ("a.json", f'{{"seed": "{SEED}"}}'.encode(), "`a.json`, seed, line 1: the course's secret"),
    "secret in capitals": ("a", f"x\n{SEED.upper()}".encode(), "`a`, line 2: the course's secret"),
    "marker": ("a.py", b"x\n  ### BEGIN SOLUTION\n", "`a.py`, line 2: a marker of the solved file"),
    "marker of nbgrader": ("a.md", b"<!-- END HIDDEN TESTS -->", "`a.md`, line 1: a marker of the solved file"),
}
WRAPPED: dict[str, Case] = {
    "JSON": (
        "a.json",
        json.dumps({"a": [1, {"b": f'"é"\n\t{SHORT_LINE}'}]}).encode(),
        f"`a.json`, a[1].b, line 2: {SHORT}",
    ),
    "JSON key": ("a.json", json.dumps({LONG_LINE: 1}).encode(), f"line 1: {SOLVED}"),
    "JSON key twice": ("a.json", f'{{"a": "{LONG_LINE}", "a": ""}}'.encode(), f"`a.json`, a, line 1: {SOLVED}"),
    "JSON in JSON": ("a.json", json.dumps([1, json.dumps(f"a\n{SHORT_LINE}\n")]).encode(), f"[1], line 1: {SHORT}"),
    "Python string": ("a.py", f"TEXT = 'a\\n    {SHORT_LINE}\\n'".encode(), f"`a.py`, line 1: {SHORT}"),
    "SVG": ("a.svg", MISTAKE_LINE.replace("'", "&#39;").encode(), "line 1: text of a mistake"),
    "base64": (
        "a.json",
        json.dumps({"a": encoded(SHORT_LINE)}).encode(),
        f"`a.json`, a, line 1, base64, line 2: {SHORT}",
    ),
    "base64 for addresses": ("a", in_address(SHORT_LINE), f"line 1, base64, line 2: {SHORT}"),
    "base64, wrapped": ("a", base64.encodebytes(b"x" * 70 + b"\n" + ROW + b"\nx"), f"line 1, base64, line 2: {SHORT}"),
    "base64 in base64": (
        "a",
        base64.b64encode(encoded(LONG_LINE).encode()),
        f"base64, line 1, base64, line 2: {SOLVED}",
    ),
    "data URI": ("a.md", f"![](data:;base64,{encoded(LONG_LINE)})".encode(), f"line 1, base64, line 2: {SOLVED}"),
    "UTF-16": ("a", f"é\n{SHORT_LINE}".encode("utf-16"), f"`a`, line 2: {SHORT}"),
    "UTF-16 without a mark": ("a", f"a\n{SHORT_LINE}".encode("utf-16-be"), f"`a`, line 2: {SHORT}"),
    "UTF-32": ("a", f"é\n{SHORT_LINE}".encode("utf-32"), f"`a`, line 2: {SHORT}"),
    "Latin-1": ("a", f"é\r\n{SHORT_LINE}\r\n".encode("latin-1"), f"`a`, line 2: {SHORT}"),
    "picture": ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\xff" + LINE + b"\0\xfe", SOLVED),
}
NOTEBOOKS: dict[str, Case] = {
    "cell": ("a.ipynb", notebook(cell("1"), cell(f"if x:\n    {SHORT_LINE}")), f"`a.ipynb`, cell 2, line 2: {SHORT}"),
    "output": ("a.ipynb", notebook(cell("1", outputs=[OUTPUT])), "`a.ipynb`, cell 1: outputs of a run"),
    "count": ("a.ipynb", notebook(cell("1"), cell("2", execution_count=7)), "`a.ipynb`, cell 2: the count of a run"),
    "attachment": ("a.ipynb", notebook(cell("1", attachments={"a": {}})), "`a.ipynb`, cell 1: an attachment"),
    "metadata": ("a.ipynb", notebook(cell("1"), widgets={}), "`a.ipynb`: metadata that no release needs"),
    "of a cell": ("a.ipynb", notebook(cell("1", metadata={"jupyter": {}})), "`a.ipynb`, cell 1: metadata"),
    "of nbgrader": ("a.ipynb", notebook(cell("1", metadata={"nbgrader": {"marks": 1}})), "`a.ipynb`, cell 1: metadata"),
    "no JSON": ("a.ipynb", b"{", "`a.ipynb`: no notebook of format 4"),
    "notebook 3": ("a.IPYNB", b'{"worksheets": [], "nbformat": 3}', "`a.IPYNB`: no notebook of format 4"),
}
ARCHIVES: dict[str, Case] = {
    "zip": ("a.zip", zipped({"b/c.py": LINE}), f"`a.zip/b/c.py`, line 1: {SOLVED}"),
    "zip by another name": ("a.png", zipped({"c.py": LINE}), f"`a.png/c.py`, line 1: {SOLVED}"),
    "wheel": ("g.whl", in_wheel("grader/x.py", LINE), f"`g.whl/grader/x.py`, line 1: {SOLVED}"),
    "zip in the wheel": ("g.whl", in_wheel("grader/x", zipped({"c": ROW})), f"`g.whl/grader/x/c`, line 1: {SHORT}"),
    "sdist": ("g-1.tar.gz", tarred({"g-1/a.py": ROW}), f"`g-1.tar.gz/g-1/a.py`, line 1: {SHORT}"),
    "tar": ("a.tar", gzip.decompress(tarred({"a.py": ROW})), f"`a.tar/a.py`, line 1: {SHORT}"),
    "gzip": ("a.svg.gz", gzip.compress(LINE), f"`a.svg.gz/a.svg`, line 1: {SOLVED}"),
    "three deep": ("a", zipped({"b": tarred({"c": zipped({"d": LINE})})}), f"`a/b/c/d`, line 1: {SOLVED}"),
    "four deep": (
        "a",
        zipped({"b": zipped({"c": zipped({"d.zip": b""})})}),
        f"`a/b/c/d.zip`: {CLOSED} (it lies inside 3",
    ),
    "damaged": ("a.zip", zipped({"a": b"abc" * 100})[:-30], f"`a.zip`: {CLOSED} (it is damaged or protected)"),
    "damaged gzip": ("a.gz", gzip.compress(LINE)[:-9], f"`a.gz`: {CLOSED} (it is damaged or protected)"),
    "unusual zip": ("a", zipped({"a": b"a"}, zipfile.ZIP_LZMA), f"`a`: {CLOSED} (it is packed by an unusual method)"),
    "xz": ("a", b"\xfd7zXZ\0abc", f"`a`: {CLOSED} (its kind is not known here)"),
    "bzip2": ("a", b"BZh91AY&SYabc", f"`a`: {CLOSED} (its kind is not known here)"),
}
NAMES: dict[str, Case] = {
    "hidden path": ("checks/hidden/a.txt", b"", "`checks/hidden`: hidden checks"),
    "hidden path in an sdist": (
        "g.tgz",
        tarred({"g-1/a/checks/hidden/x": b""}),
        "`g.tgz/g-1/a/checks/hidden`: hidden checks",
    ),
    "repository": (".git/config", b"", f"`.git`: {HISTORY}"),
    "repository in a zip": ("a.zip", zipped({"b/.git/": b""}), f"`a.zip/b/.git`: {HISTORY}"),
    "Windows path": ("a\\.HG\\b", b"", f"`a/.HG`: {HISTORY}"),
    "Subversion": (".svn/x", b"", f"`.svn`: {HISTORY}"),
    "compiled": ("a/__pycache__/b.cpython-311.pyc", LINE, "`a/__pycache__`: compiled Python"),
    "compiled, alone": ("a/b.pyc", b"", "`a/b.pyc`: compiled Python"),
    "optimised": ("a/b.pyo", b"", "`a/b.pyo`: compiled Python"),
    "checkpoints": (".ipynb_checkpoints/a.ipynb", b"", "`.ipynb_checkpoints`: older states of notebooks"),
    "folder of the secret": (".grader/secret", b"", "`.grader`: the folder of the course's secret"),
    "environment": (".env", b"", "`.env`: settings of somebody's machine"),
    "swap file": (".halves.py.swp", b"", "`.halves.py.swp`: an editor's copy"),
    "backup": ("halves.py~", b"", "`halves.py~`: an editor's copy"),
    "macOS": ("checks/.DS_Store", b"", "`checks/.DS_Store`: what macOS knows of a folder"),
    "pytest": (".pytest_cache/x", b"", "`.pytest_cache`: what pytest remembers"),
}
CASES = {**COPIES, **WRAPPED, **NOTEBOOKS, **ARCHIVES, **NAMES}


@pytest.mark.parametrize("case", CASES)
def test_each_planted_leak_is_refused_and_nothing_else(secrets: Secrets, case: str) -> None:
    """One sentence: where it is, also inside archives, what it is, where it comes from, and what to do."""
    path, data, told = CASES[case]

    found = leaks({"README.md": b"# Halves\n", "b/b.py": b"x = 1\n", path: data, "z.json": b"[]"}, secrets)

    assert len(found) == 1, found
    assert told in found[0]
    assert " — " in found[0].partition(told)[2]


PUBLIC = {
    "shared": 'close(student.half(x), reference.half(x), dtype=x.dtype, limit=0.0, reason="halving is exact")',
    "import": "from torch import finfo, iinfo",
    "docstring of the stub": '"""x / 2, in x\'s dtype."""',
    "sentence": f"{SENTENCE}.",
    "rest of the docstring": MORE,
    "short line": "return x * 0.25",
    "name of a public check": "test_small and test_small[float32]",
    "longer name": "test_drawn_by_lots, latest_drawn_by_lot, test_drawn",
    "marker that begins a sentence": "`### BEGIN SOLUTION` is a line of its own.",
    "markers in a sentence": "What stands between `### BEGIN SOLUTION` and `### END SOLUTION` is yours.",
    "hint": "Half of x is x times one half.",
    "title": "Half of everything, title",
}


@pytest.mark.parametrize("case", PUBLIC)
def test_what_is_public_is_no_leak(secrets: Secrets, case: str) -> None:
    """Lines that public files hold too, imports, short lines, and what only looks like a secret."""
    assert leaks({"a.md": f"{PUBLIC[case]}\n".encode()}, secrets) == []


def test_what_the_handout_teaches_may_stand_in_the_gallery(tmp_path: Path) -> None:
    """A wrong way that the handout shows is no secret, nor is data that is public and hidden; a check's line is."""
    data = bytes(range(200))
    handout = f"# Halves\n\nMany write\n\n    {MISTAKE_LINE}\n\nand are sorry.\n"
    more: dict[str, str | bytes | None] = {
        "assignments/halves/handout.md": handout,
        DATA: data,
        "assignments/halves/checks/public/data.bin": data,
    }
    secrets = Secrets.of(spec.load(assignment_builder.build(tmp_path, {**COURSE, **more})))

    assert leaks({"README.md": handout.encode(), "data.bin": data}, secrets) == []
    assert len(leaks({"x": HIDDEN_LINE.encode()}, secrets)) == 1


def test_what_this_package_holds_is_public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An assignment that began as a template shares lines with it, and the template is in every wheel."""
    package = tmp_path / "package"
    (package / "templates").mkdir(parents=True)
    template = json.dumps({"text": f"def half(x):\n    {LONG_LINE}\n    {SHORT_LINE}\n# test_drawn_by_lot\n"})
    (package / "templates" / "new.json").write_text(template, encoding="utf-8")
    monkeypatch.setattr(leaks_module, "_PACKAGE", package)
    secrets = Secrets.of(spec.load(assignment_builder.build(tmp_path, COURSE)))

    assert leaks({"a.py": f"{LONG_LINE}\n{SHORT_LINE}\ntest_drawn_by_lot\n".encode()}, secrets) == []
    assert len(leaks({"a.py": f"{HIDDEN_LINE}\ntest_rather_huge\n".encode()}, secrets)) == 2


def test_the_package_may_speak_of_markers(secrets: Secrets) -> None:
    """Its templates hold solved files and hidden checks of their own; the same beside it is refused."""
    name, text = "grader/templates/checks/a.py", b"### BEGIN SOLUTION\n"
    hidden = name.replace("checks", "checks/hidden")

    assert leaks({"g.whl": zipped({name: text, hidden: text})}, secrets) == []
    assert leaks({"g-1.tar.gz": tarred({f"g-1/{name}": text, f"g-1/{hidden}": text})}, secrets) == []
    assert len(leaks({f"a/{name}": text, f"b/{hidden}": text}, secrets)) == 2


def test_a_course_without_secret_and_gallery(tmp_path: Path) -> None:
    """Nothing is made where there is none, and no text is taken for the secret that does not exist."""
    secrets = Secrets.of(spec.load(assignment_builder.build(tmp_path)))

    assert secrets.seed == ""
    assert not (tmp_path / ".grader").exists()
    assert leaks({"a.txt": b"x\n\nanything", "empty": b""}, secrets) == []
    assert len(leaks({"a.txt": REFERENCE_LINE.encode()}, secrets)) == 1


def test_files_are_copies_only_if_that_says_something(secrets: Secrets) -> None:
    """Two empty files are no copies, and what a binary file shares with another is not told by lines."""
    assert leaks({"a/__init__.py": b"", "a/b.bin": b"x" + bytes(range(256))}, secrets) == []


def test_many_lines_of_one_file_are_one_sentence(secrets: Secrets) -> None:
    """The first place is told, and how many there are; another origin is another sentence."""
    hidden = str(COURSE[HIDDEN]).replace("What scores.", "What scores, almost the same.")
    (text, names) = sorted(leaks({"checks/a.py": hidden.encode()}, secrets), reverse=True)

    assert text.startswith("`checks/a.py`, line ")
    assert " more: text of the hidden checks (" in text
    assert "and 1 more: the name of a hidden check (" in names


def test_nothing_secret_is_quoted(secrets: Secrets) -> None:
    """The sentences may stand in a public log."""
    text = f"{LONG_LINE}\n{SHORT_LINE}\n{HIDDEN_LINE}\n{MISTAKE_LINE}\n{REFERENCE_LINE}\n{SEED}"
    files = {"a.py": text.encode(), "a.json": json.dumps({line: {line: [line]} for line in text.split("\n")}).encode()}
    said = "\n".join([*leaks(files, secrets), repr(secrets).replace(repr(dict(secrets.lines)), "")])

    assert len(leaks(files, secrets)) == 10
    for line in text.split("\n"):
        assert line[:20] not in said


def test_archives_are_bounded_together(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would unpack to more than the bound is refused and costs no more; what is small is still looked into."""
    monkeypatch.setattr(contents, "MAX_UNPACKED", 2 << 20)
    large, half, small = bytes(3 << 20), bytes(3 << 19), zipped({"c": LINE})
    files = {"a.zip": zipped({"a": large}), "b.gz": gzip.compress(large), "c.zip": small}

    found = leaks(files, secrets)

    assert [line.partition(":")[0] for line in found] == ["`a.zip`", "`b.gz`", "`c.zip/c`, line 1"]
    assert "more than 2 MiB" in found[0] and "more than 2 MiB" in found[1]
    assert leaks({"a.gz": gzip.compress(half)}, secrets) == []
    assert len(leaks({"a.gz": gzip.compress(half), "b.gz": gzip.compress(half)}, secrets)) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000, b'{"a":' * 100_000, b"\\", b"{}", b"\xff\xfe", b"\xff\xfea", b"\0", b"[]]", b"&#xffffffff;",
        b"A" * 65, b"\\ud800" * 12, b'["\\ud800"]', b"A" * 64 + b"\n" + b"-" * 61, b"\x1f\x8b", b"PK\x05\x06",
    ],
    ids=lambda data: str(data[:9]),
)  # fmt: skip
def test_odd_bytes_are_read_without_complaint_or_refused(secrets: Secrets, data: bytes) -> None:
    """Nothing that lies in a release makes the search itself fail."""
    assert [line for line in leaks({"a": data}, secrets) if "cannot be looked into" not in line] == []


@pytest.mark.parametrize("name", IDS)
def test_a_clean_release_has_no_leak(name: str) -> None:
    """What is built of each assignment of the course: its release, the notebook of its stub, and the wheel."""
    assignment = spec.load(ROOT / "assignments" / name)
    files = release.build(assignment)
    stub, handout = files[assignment.file].decode(), files["README.md"].decode()
    built = dict([wheel.build(), ("stub.ipynb", to_notebook(stub, assignment, handout))])

    assert leaks({**files, **built}, Secrets.of(assignment)) == []


@pytest.mark.parametrize("name", IDS)
def test_every_file_of_the_course_is_known_again(name: str) -> None:
    """Each that must not ship, whole or but for its first lines, is refused in a release."""
    assignment = spec.load(ROOT / "assignments" / name)
    secrets = Secrets.of(assignment)
    folder = Path(assignment.folder)
    private = [Path(assignment.solution), folder / "reference.py", *(folder / "checks" / "hidden").glob("*.py")]
    private += [*(folder / "mistakes").glob("*.py"), *(folder / "variants").glob("*.py")]

    assert len(private) > 4
    for path in private:
        data = path.read_bytes()
        assert leaks({"a.txt": data}, secrets), path
        assert leaks({"a.txt": data.partition(b"\n")[2]}, secrets), path


def test_neither_sdist_nor_wheel_holds_anything_of_the_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line of a solution and of a hidden check, judged as if this package were not public anyway."""
    monkeypatch.setattr(leaks_module, "_PACKAGE", tmp_path / "none")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    (sdist,) = tmp_path.glob("*.tar.gz")
    built = dict([wheel.build(), (sdist.name, sdist.read_bytes())])
    for name in IDS:
        secrets = Secrets.of(spec.load(ROOT / "assignments" / name))
        # A reference and a gallery may share helpers with the package's templates; what scores may not.
        strict = {"the solution", "the hidden checks"}
        lines = {phrase: origin for phrase, origin in secrets.lines.items() if origin.of in strict}
        assert len(lines) > 20
        assert leaks(built, Secrets(lines, secrets.names, secrets.files, secrets.seed)) == []

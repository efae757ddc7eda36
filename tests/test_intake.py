"""Whatever lies in a folder of submissions becomes source text, or one sentence for the student."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import unicodedata
import urllib.parse
import zipfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import UsageError
from grader.intake import Entry, entries, entry_of, read, safe_name
from grader.model import Assignment, Exercise, Submission

ASSIGNMENT = Assignment(
    id="losses",
    title="Losses",
    file="losses.py",
    folder="/nowhere",
    solution="/nowhere/losses.py",
    exercises=(Exercise("lse", "Log-sum-exp", 2), Exercise("bce", "Cross entropy", 3)),
    checks=(),
)
WHOLE = "def lse(x): return x\ndef bce(x): return x\n"


def _lay(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    folder.mkdir(exist_ok=True)
    return folder


def _notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})


def _zip(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _read(path: Path) -> Submission:
    return read(Entry("ada", path), ASSIGNMENT)


def _sha(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def _students(*paths: Path) -> dict[str, str]:
    return {entry.student: entry.path.name for entry in entries(list(paths), ASSIGNMENT)}


# entries


def test_a_folder_of_entries(tmp_path: Path) -> None:
    """Each child is one entry, whatever its kind; hidden files and what systems leave behind are none."""
    _lay(
        tmp_path / "all",
        {
            "ada/losses.py": WHOLE,
            "b.lovelace/x/losses.py": WHOLE,
            "c.d.py": WHOLE,
            "e.ipynb": "{}",
            "f f.zip": b"",
            "g.tar": b"",
            "__MACOSX/x": "",
            ".hidden/losses.py": "",
            ".DS_Store": "",
            "Thumbs.db": "",
            "desktop.ini": "",
        },
    )
    assert _students(tmp_path / "all") == {
        "ada": "ada", "b.lovelace": "b.lovelace", "c.d": "c.d.py", "e": "e.ipynb", "f f": "f f.zip", "g": "g.tar",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["losses.py", "losses.ipynb"])
def test_a_folder_with_the_file_is_one_entry(tmp_path: Path, name: str) -> None:
    """A folder that directly holds the assignment's file is one entry, whatever else is in it."""
    folder = _lay(tmp_path / "ada", {name: "", "other.py": "", "sub/x.py": ""})
    assert _students(folder) == {"ada": "ada"}


def test_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`.` and `..` have names too."""
    monkeypatch.chdir(_lay(tmp_path / "ada", {"losses.py": "", "sub/losses.py": ""}))
    assert [entry.student for entry in entries([Path()], ASSIGNMENT)] == ["ada"]
    monkeypatch.chdir("sub")
    assert [entry.student for entry in entries([Path("..")], ASSIGNMENT)] == ["ada"]


def test_several_paths(tmp_path: Path) -> None:
    """Entries come in the order of the paths, and of names within a folder."""
    _lay(tmp_path, {"z.py": "", "all/c.py": "", "all/b.py": "", "ada/losses.py": ""})
    assert list(_students(tmp_path / "z.py", tmp_path / "all", tmp_path / "ada")) == ["z", "b", "c", "ada"]


def test_one_student_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two entries of one student are refused, and both are named."""
    monkeypatch.chdir(_lay(tmp_path, {"ada.py": "", "late/ada.zip": b"", "late/bob.py": ""}))
    with pytest.raises(UsageError) as caught:
        entries([Path("ada.py"), Path("late")], ASSIGNMENT)
    twice = f"`ada.py` and `{Path('late', 'ada.zip')}`"
    assert str(caught.value) == f"student `ada` is there twice: {twice}; keep one, or rename one"


def test_nothing_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, no path at all, and a path that does not exist are mistakes of the command line."""
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    end = "expected one folder, .py, .ipynb or .zip per student"
    for paths, sentence in (
        ([Path("empty")], f"no submissions found: `empty`; {end}"),
        ([], f"no submissions found: no path was given; {end}"),
        ([Path("no.py")], "`no.py` cannot be read: No such file or directory"),
        ([Path("a\0b")], r"`a\x00b` cannot be read: embedded null byte"),
    ):
        with pytest.raises(UsageError) as caught:
            entries(paths, ASSIGNMENT)
        assert str(caught.value) == sentence


@pytest.mark.skipif(os.name != "posix", reason="file names are bytes on POSIX only")
def test_ids_fit_into_json(tmp_path: Path) -> None:
    """An id is composed Unicode, and bytes that are no text are written as escapes."""
    _lay(tmp_path, {unicodedata.normalize("NFD", "josé") + ".py": WHOLE})
    (tmp_path / os.fsdecode(b"ren\xe9.py")).write_text(WHOLE, encoding="utf-8")
    found = entries([tmp_path], ASSIGNMENT)
    assert {entry.student for entry in found} == {"josé", r"ren\udce9"}
    for entry in found:
        submission = read(entry, ASSIGNMENT)
        assert submission.source == WHOLE
        assert msgspec.json.decode(msgspec.json.encode(submission), type=Submission) == submission


@pytest.mark.skipif(os.name != "posix", reason="other systems do not allow such names")
def test_ids_are_plain(tmp_path: Path) -> None:
    """What cannot be seen in a name is written out, in ids, in names of files and in every sentence."""
    _lay(tmp_path, {"ada\u200b.py": WHOLE, "\x1b[31meve\n.py": WHOLE, "=1+1.py": WHOLE, "bob/\u202eyp.py": "x = ("})
    _lay(tmp_path, {"ada.py": WHOLE, "zoe.zip": _zip({"a\x1b]0;\x07/" + "b" * 3000 + ".py": WHOLE})})
    found = {entry.student: read(entry, ASSIGNMENT) for entry in entries([tmp_path], ASSIGNMENT)}
    assert set(found) == {"ada", r"ada\u200b", r"\x1b[31meve\n", "=1+1", "bob", "zoe"}
    assert found["bob"].file == r"\u202eyp.py"
    assert found["zoe"].file.startswith(r"a\x1b]0;\x07/bbb")
    for student, submission in found.items():
        texts = (student, submission.file, submission.problem, *submission.warnings)
        assert all(text.isprintable() and len(text) <= 1000 for text in texts)
        assert len(submission.file) <= 200


@pytest.mark.skipif(os.name != "posix", reason="other systems do not allow such names")
def test_ids_that_look_alike_when_written_out(tmp_path: Path) -> None:
    """Two names that come to the same id are refused, as one student twice is: nobody takes another's place."""
    _lay(tmp_path, {"ada\x1b.py": WHOLE, "ada\\x1b.py": WHOLE})
    with pytest.raises(UsageError, match=r"^student `ada\\x1b` is there twice: "):
        entries([tmp_path], ASSIGNMENT)


def test_an_entry_outlives_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry made of a relative path is found from everywhere."""
    monkeypatch.chdir(_lay(tmp_path, {"ada.py": WHOLE, "other/x": ""}))
    entry = entry_of(Path("ada.py"))
    monkeypatch.chdir("other")
    assert (entry.student, read(entry, ASSIGNMENT).source) == ("ada", WHOLE)


# read


def test_a_file_of_any_name(tmp_path: Path) -> None:
    """A bare file is used whatever it is called; line ends become one kind, and the digest is of the bytes."""
    data = WHOLE.replace("\n", "\r\n")
    path = _lay(tmp_path, {"Ada's work (1).py": data}) / "Ada's work (1).py"
    assert _read(path) == Submission("ada", "Ada's work (1).py", WHOLE, _sha(data))


def test_a_folder_with_the_file(tmp_path: Path) -> None:
    """The file of the right name is used, at the shallowest place, without a warning."""
    files: dict[str, str | bytes] = {"week 1/hw/losses.py": WHOLE, "week 1/hw/old/losses.py": "", "week 1/x.py": WHOLE}
    assert _read(_lay(tmp_path, files)) == Submission("ada", "week 1/hw/losses.py", WHOLE, _sha(WHOLE))


def test_a_folder_without_the_file(tmp_path: Path) -> None:
    """Where no file can be chosen the problem lists what was found, the same for a folder and a zip."""
    files: dict[str, str | bytes] = {"report.pdf": b"", "sub/data.csv": b""}
    problem = "there is no `losses.py`: found `report.pdf`, `sub/data.csv`"
    assert _read(_lay(tmp_path / "ada", files)) == Submission("ada", "ada", None, _sha(problem), problem)
    path = _lay(tmp_path, {"ada.zip": _zip(dict.fromkeys(files, ""))}) / "ada.zip"
    assert _read(path) == Submission("ada", "ada.zip", None, _sha(problem), problem)


def test_a_notebook(tmp_path: Path) -> None:
    """A notebook's code is read, and a mistake in it is told as Jupyter shows it."""
    text = _notebook("%matplotlib inline", WHOLE.removesuffix("\n"))
    submission = _read(_lay(tmp_path, {"ada.ipynb": text}) / "ada.ipynb")
    note = "lines for IPython in `ada.ipynb` were left out (cell 1: `%matplotlib inline`)"
    source = f"# cell 1\n# %matplotlib inline\n# cell 2\n{WHOLE}"
    assert submission == Submission("ada", "ada.ipynb", source, _sha(text), "", (note,))
    broken = _read(_lay(tmp_path, {"bob.ipynb": _notebook("x = 1", "y = 2\nz = = 3")}) / "bob.ipynb")
    assert broken.problem.startswith("`bob.ipynb`, cell 2, line 2, column 5 is not Python 3.")
    assert broken.problem.endswith(": invalid syntax: `z = = 3`")


def test_a_zip(tmp_path: Path) -> None:
    """A zip is read as a folder is, and the digest is of the file that was used."""
    files = {"__MACOSX/week/._losses.py": "\0", "week/losses.py": WHOLE, "week/notes.txt": ""}
    path = _lay(tmp_path, {"ada.zip": _zip(files)}) / "ada.zip"
    assert _read(path) == Submission("ada", "week/losses.py", WHOLE, _sha(WHOLE))
    assert sorted(child.name for child in tmp_path.iterdir()) == ["ada.zip"]


def test_a_zip_inside_a_folder(tmp_path: Path) -> None:
    """Course sites lay the zip that was handed in into a folder of its own."""
    assert _read(_lay(tmp_path / "ada", {"hw.zip": _zip({"hw/losses.py": WHOLE})})).source == WHOLE
    both = _lay(tmp_path / "bob", {"a.zip": _zip({"losses.py": WHOLE}), "b.zip": _zip({"losses.py": WHOLE})})
    assert _read(both).problem == "there is no `losses.py`: found `a.zip`, `b.zip`"


def test_problems_of_archives_are_told(tmp_path: Path) -> None:
    """What a zip or a notebook is refused for becomes the problem."""
    _lay(tmp_path, {"a.zip": "Rar!", "b.zip": _zip({"../losses.py": ""}), "c.ipynb": "[]", "d.txt": WHOLE})
    assert {name: _read(tmp_path / name).problem for name in ("a.zip", "b.zip", "c.ipynb", "d.txt")} == {
        "a.zip": "`a.zip` is not a zip file, or is damaged; make the zip again",
        "b.zip": "`b.zip` holds `../losses.py`, a path that leads out of the zip; make the zip from inside the folder",
        "c.ipynb": "`c.ipynb` is not a notebook: it holds no list of cells",
        "d.txt": "`d.txt` is not a .py, an .ipynb or a .zip",
    }


def test_text_that_is_not_python_is_kept(tmp_path: Path) -> None:
    """A mistake in the syntax is a problem, and the text is still there to be shown."""
    submission = _read(_lay(tmp_path, {"ada.py": "x = (\n"}) / "ada.py")
    assert submission.source == "x = (\n"
    assert submission.problem.startswith("`ada.py`, line 1, column 5 is not Python 3.")


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n  # comments\n"])
def test_files_without_code(tmp_path: Path, text: str) -> None:
    """An empty file is told as such, and not as missing functions."""
    assert _read(_lay(tmp_path, {"ada.py": text}) / "ada.py").problem == "`ada.py` holds no code"
    assert _read(_lay(tmp_path, {"a.ipynb": _notebook(text)}) / "a.ipynb").problem == "`a.ipynb` holds no code"


def test_encodings_are_told(tmp_path: Path) -> None:
    """A file that is not UTF-8 is graded, with a warning; one that is no text is a problem."""
    submission = _read(_lay(tmp_path, {"ada.py": b"# caf\xe9\nx = 1\n"}) / "ada.py")
    assert submission.source == "# café\nx = 1\n"
    assert submission.warnings == (
        "`ada.py` is not UTF-8: line 1 holds the byte 0xe9; it was read as Latin-1; save it as UTF-8",
    )
    nul = _read(_lay(tmp_path, {"bob.py": b"x = 1\0"}) / "bob.py")
    assert (nul.source, nul.digest) == (None, _sha(b"x = 1\0"))
    assert nul.problem == "`bob.py` holds a NUL character in line 1; save it as UTF-8 text"


def test_a_function_defined_twice(tmp_path: Path) -> None:
    """The last definition counts, as it does in Python, and the student is told."""
    text = _notebook("def lse(): return 1", "def lse(): return 2", "def plot(): ...", "def plot(): ...")
    submission = _read(_lay(tmp_path, {"ada.ipynb": text}) / "ada.ipynb")
    assert submission.warnings == ("defined more than once, and the last one counts: `lse`",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files on this system")
def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    """An entry that is a link or a pipe is refused, and so is a link where the file should be."""
    _lay(tmp_path, {"secret.py": WHOLE, "real/losses.py": WHOLE, "ada/notes.txt": ""})
    (tmp_path / "link.py").symlink_to(tmp_path / "secret.py")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    (tmp_path / "ada" / "losses.py").symlink_to(tmp_path / "secret.py")
    os.mkfifo(tmp_path / "pipe.py")
    for name, what in (("link.py", "a link"), ("link", "a link"), ("pipe.py", "a special file")):
        assert _read(tmp_path / name).problem == f"`{name}` is {what}; hand in the file itself"
    assert _read(tmp_path / "ada").problem == "`losses.py` is a link; hand in the file itself"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such files on this system")
def test_devices_are_never_opened(tmp_path: Path) -> None:
    """A device without end, named or linked to, is a refusal and no hang."""
    assert _read(Path("/dev/zero")).problem == "`zero` is a special file; hand in the file itself"
    (tmp_path / "losses.py").symlink_to("/dev/zero")
    assert _read(tmp_path).problem == "`losses.py` is a link; hand in the file itself"


def test_a_stale_mount_costs_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that the system cannot even look at is a problem of its own, and the others are read."""
    _lay(tmp_path, {"ada.py": WHOLE, "bob/losses.py": WHOLE})
    real = Path.stat

    def stat(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if self.name == "bob":
            raise OSError(errno.ESTALE, "Stale file handle")
        return real(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", stat)
    found = [read(entry, ASSIGNMENT) for entry in entries([tmp_path], ASSIGNMENT)]
    assert [(one.student, bool(one.problem)) for one in found] == [("ada", False), ("bob", True)]


def test_a_zip_in_a_zip(tmp_path: Path) -> None:
    """An archive inside an archive is not opened: bombs are made of such."""
    inner = _zip({"losses.py": WHOLE})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inner.zip", inner)
    assert _read(_lay(tmp_path, {"ada.zip": buffer.getvalue()}) / "ada.zip").problem == (
        "there is no `losses.py`: found `inner.zip`"
    )


@pytest.mark.skipif(Path(__file__.upper()).exists(), reason="case does not count on this system")
def test_names_that_differ_in_case(tmp_path: Path) -> None:
    """Of files whose names differ in case only, the one of the right name counts; without it, nobody guesses."""
    _lay(tmp_path / "ada", {"Losses.py": "x = 1", "losses.py": WHOLE})
    assert (_read(tmp_path / "ada").file, _read(tmp_path / "ada").problem) == ("losses.py", "")
    _lay(tmp_path / "bob", {"Losses.py": WHOLE, "LOSSES.py": WHOLE})
    assert _read(tmp_path / "bob").problem == (
        "there is no `losses.py`, and several could be it: `LOSSES.py`, `Losses.py`"
    )


def test_what_has_vanished(tmp_path: Path) -> None:
    """An entry that is gone since it was listed is a problem of its own, and no exception."""
    assert _read(tmp_path / "gone.py").problem == "`gone.py` cannot be read: No such file or directory"
    assert _read(tmp_path / "gone").problem == "`gone` cannot be read: No such file or directory"


@given(data=st.binary(max_size=300), ending=st.sampled_from([".py", ".ipynb", ".zip", ".txt", "", "/losses.py"]))
def test_any_bytes(data: bytes, ending: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the bytes and the ending, a Submission comes back that JSON can hold."""
    folder = tmp_path_factory.getbasetemp() / "any"
    path = folder / f"ada{ending}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path = path if ending != "" else folder / "plain"
    path.write_bytes(data)
    submission = _read(path if ending != "/losses.py" else path.parent)
    assert submission.problem != "" or submission.source is not None
    assert submission.problem.isprintable()
    assert msgspec.json.decode(msgspec.json.encode(submission), type=Submission) == submission


# safe_name


@pytest.mark.parametrize(
    ("student", "name"),
    [
        ("ada", "ada"),
        ("student-01", "student-01"),
        ("j.smith_2", "j.smith_2"),
        ("Ada", "%41da"),
        ("josé", "jos%c3%a9"),
        ("a/b", "a%2fb"),
        ("50%", "50%25"),
        ("", "%"),
        (".", "%2e"),
        ("..", "%2e%2e"),
        (".hidden", "%2ehidden"),
        ("a.", "a%2e"),
        ("con", "%63on"),
        ("nul.txt", "%6eul.txt"),
        ("console", "console"),
        ("com1", "%63om1"),
        ("a b", "a%20b"),
    ],
)
def test_safe_names(student: str, name: str) -> None:
    """Plain ids stay as they are; all that some file system minds is escaped."""
    assert safe_name(student) == name


def test_long_names() -> None:
    """A name that would be too long is cut, and still differs from all others."""
    assert safe_name("a" * 200) == "a" * 200
    names = {safe_name("a" * n) for n in range(201, 300)} | {safe_name("a" * 190 + "é" * n) for n in range(2, 50)}
    assert len(names) == 99 + 48
    assert all(len(name) <= 200 and urllib.parse.quote(name, safe="%") == name for name in names)


@given(st.text(st.characters(), min_size=1, max_size=60))
def test_safe_names_lead_back(student: str) -> None:
    """A name that was not cut gives the id back, and holds nothing that a file system minds."""
    name = safe_name(student)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-%")
    assert not name.startswith(".")
    assert not name.endswith(".")
    assert "%-" in name or urllib.parse.unquote_to_bytes(name).decode("utf-8", "surrogatepass") == student


@given(st.lists(st.text(), unique=True, max_size=5))
def test_safe_names_never_meet(students: list[str]) -> None:
    """Different ids have names that differ even where case does not count."""
    assert len({safe_name(student).casefold() for student in students}) == len(students)

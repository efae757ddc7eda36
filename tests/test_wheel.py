"""A student's wheel is this installation and nothing else, the same bytes each time, and pip takes it."""

from __future__ import annotations

import base64
import csv
import email
import hashlib
import importlib.metadata
import io
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

import grader
from grader import wheel
from grader.errors import EnvironmentRefused

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INFO = f"finite_grader-{PROJECT['version']}.dist-info"
NO_PART = {"__pycache__", ".DS_Store"}


@pytest.fixture(scope="module")
def built() -> tuple[str, bytes]:
    """The wheel."""
    return wheel.build()


@pytest.fixture(scope="module")
def archive(built: tuple[str, bytes]) -> zipfile.ZipFile:
    """The wheel, opened."""
    return zipfile.ZipFile(io.BytesIO(built[1]))


@pytest.fixture(scope="module")
def installed(built: tuple[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh folder into which pip has installed it."""
    folder = tmp_path_factory.mktemp("installed")
    file = folder / built[0]
    file.write_bytes(built[1])
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--disable-pip-version-check", "--target",
         str(folder / "site"), str(file)],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return folder / "site"


def run(site: Path, *arguments: str) -> bytes:
    """What Python prints where only the installed copy of the package can be meant."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=site.parent, env=environment, check=True, capture_output=True, timeout=60
    ).stdout


def test_pip_installs_it_and_it_runs(installed: Path) -> None:
    """The package is imported from there, and its command answers."""
    where = run(installed, "-c", "import grader; print(grader.__file__)").decode().strip()

    assert Path(where) == installed / "grader" / "__init__.py"
    assert run(installed, "-m", "grader", "--version").decode().split() == ["grader,", "version", PROJECT["version"]]


def test_an_installed_copy_builds_the_same_wheel(installed: Path, built: tuple[str, bytes]) -> None:
    """Byte for byte, though pip has put its own notes beside it and Python its compiled files into it."""
    again = run(installed, "-c", "import sys; from grader import wheel; sys.stdout.buffer.write(wheel.build()[1])")

    assert list((installed / "grader").rglob("*.pyc"))
    assert (installed / INFO / "direct_url.json").exists()
    assert again == built[1]


def test_two_builds_are_equal(built: tuple[str, bytes]) -> None:
    """Name and bytes."""
    assert wheel.build() == built


def test_nothing_in_it_depends_on_the_machine(archive: zipfile.ZipFile) -> None:
    """Sorted members, one time, one set of permissions, one system, no compression."""
    members = archive.infolist()
    package = [info.filename for info in members if info.filename.startswith("grader/")]

    assert package == sorted(package)
    assert {info.date_time for info in members} == {(1980, 1, 1, 0, 0, 0)}
    assert {info.external_attr >> 16 for info in members} == {0o100644}
    assert {(info.create_system, info.compress_type) for info in members} == {(3, zipfile.ZIP_STORED)}


def test_it_holds_the_package_and_what_a_wheel_says_of_itself(archive: zipfile.ZipFile) -> None:
    """Every file of the package, data included; four files about it, the record last; no others."""
    folder = Path(grader.__file__).parent
    files = [path for path in folder.rglob("*") if path.is_file() and not NO_PART & {*path.parts}]
    about = ["METADATA", "entry_points.txt", "WHEEL", "RECORD"]

    names = archive.namelist()
    assert names[-4:] == [f"{INFO}/{name}" for name in about]
    assert sorted(names[:-4]) == sorted(path.relative_to(folder.parent).as_posix() for path in files)
    assert archive.read("grader/stubs.py") == (folder / "stubs.py").read_bytes()


def test_data_travels_and_leavings_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template whose name begins with a dot is data; compiled files are not, wherever they lie."""
    package = tmp_path / "grader"
    files = ["__init__.py", "py.typed", "templates/.github/x.yml", "templates/a b.jinja"]
    for name in [*files, "__pycache__/a.cpython-311.pyc", "templates/__pycache__/x.txt", "a.pyc", ".DS_Store"]:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_bytes(name.encode())
    monkeypatch.setattr(wheel, "_PACKAGE", package)

    opened = zipfile.ZipFile(io.BytesIO(wheel.build()[1]))

    assert opened.namelist()[:-4] == [f"grader/{name}" for name in files]
    assert all(opened.read(f"grader/{name}") == name.encode() for name in files)


def test_nothing_of_the_course_is_in_it(archive: zipfile.ZipFile) -> None:
    """No file of an assignment, of a solution or of the tests, by name or by content."""
    course = [path for name in ("assignments", "solutions", "tests") for path in (ROOT / name).rglob("*.py")]
    digests = {hashlib.sha256(path.read_bytes()).digest() for path in course if path.stat().st_size > 100}

    assert len(digests) > 50
    assert not [name for name in archive.namelist() if hashlib.sha256(archive.read(name)).digest() in digests]
    assert {name.partition("/")[0] for name in archive.namelist()} == {"grader", INFO}


def test_the_record_is_right(archive: zipfile.ZipFile) -> None:
    """One row a file: digest and size are those of its bytes; the record's own row has neither."""
    rows = list(csv.reader(io.StringIO(archive.read(f"{INFO}/RECORD").decode("utf-8"))))
    assert [row[0] for row in rows] == archive.namelist()
    assert rows.pop() == [f"{INFO}/RECORD", "", ""]
    for name, digest, size in rows:
        data = archive.read(name)
        kind, _, value = digest.partition("=")
        assert (kind, int(size)) == ("sha256", len(data))
        assert "=" not in value
        assert base64.urlsafe_b64decode(value + "=") == hashlib.sha256(data).digest()


def test_its_name_and_tags_agree(built: tuple[str, bytes], archive: zipfile.ZipFile) -> None:
    """Pure Python for any platform, in the file name as in the file."""
    name, version, _, tags = parse_wheel_filename(built[0])
    about = email.message_from_bytes(archive.read(f"{INFO}/WHEEL"))

    assert (name, str(version), {str(tag) for tag in tags}) == (PROJECT["name"], PROJECT["version"], {"py3-none-any"})
    assert dict(about) == {
        "Wheel-Version": "1.0", "Generator": "grader", "Root-Is-Purelib": "true", "Tag": "py3-none-any",
    }  # fmt: skip


def test_its_metadata_are_those_of_the_project(archive: zipfile.ZipFile) -> None:
    """Name, version, Python, requirements with their extras, and the command; stale ones need `pip install -e .`."""
    metadata = email.message_from_bytes(archive.read(f"{INFO}/METADATA"))
    wanted = {str(Requirement(text)) for text in PROJECT["dependencies"]}
    for extra, texts in PROJECT["optional-dependencies"].items():
        for requirement in map(Requirement, texts):
            marker = f'extra == "{extra}"'
            given = requirement.marker and f"{requirement.marker} and {marker}"
            requirement.marker = None
            wanted.add(str(Requirement(f"{requirement}; {given or marker}")))

    assert (metadata["Name"], metadata["Version"]) == (PROJECT["name"], PROJECT["version"])
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert {str(Requirement(text)) for text in metadata.get_all("Requires-Dist", [])} == wanted
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    commands = archive.read(f"{INFO}/entry_points.txt").decode("utf-8").split("\n")
    assert commands == ["[console_scripts]", *(f"{name} = {to}" for name, to in PROJECT["scripts"].items()), ""]


def test_a_source_tree_without_installation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to say what it needs; the sentence says how to mend that."""

    def missing(name: str) -> importlib.metadata.Distribution:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(EnvironmentRefused, match=r"is not installed.*Install it"):
        wheel.build()


def test_an_installation_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its requirements would be told of files that are not its own."""
    monkeypatch.setattr(wheel, "__version__", "9.9")
    with pytest.raises(EnvironmentRefused, match=r"is version 9.9, but .* is installed as .*Install it again"):
        wheel.build()

"""This very installation as a wheel, for students to install from the release folder."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import io
import re
import stat
import zipfile
from pathlib import Path

from grader import __version__
from grader.errors import EnvironmentRefused

__all__ = ["build"]

DISTRIBUTION = "finite-grader"

_PACKAGE = Path(__file__).parent
_NO_PART = {"__pycache__", ".DS_Store"}  # other dotted names may belong to templates
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say
_WHEEL = """\
Wheel-Version: 1.0
Generator: grader
Root-Is-Purelib: true
Tag: py3-none-any
"""


def build() -> tuple[str, bytes]:
    """File name and bytes of the wheel: the same bytes from the same version, on every machine.

    The package's files are those that are running; name, version, requirements and commands are what this
    installation, editable or not, was installed with. Raises EnvironmentRefused where the two do not belong together.
    """
    # No build backend is asked: it would need the source tree with its pyproject.toml, and whoever teaches a course
    # has an installation; and it would pack with the zlib of the machine, so that no two wheels need be equal.
    try:
        distribution = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        raise EnvironmentRefused(
            f"`{DISTRIBUTION}` is not installed: {_PACKAGE} runs from its source. Install it (pip install --editable .)"
        ) from None
    if distribution.version != __version__:
        raise EnvironmentRefused(
            f"{_PACKAGE} is version {__version__}, but `{DISTRIBUTION}` is installed as {distribution.version}."
            " Install it again (pip install --editable .)"
        )
    stem = f"{re.sub(r'[-_.]+', '_', DISTRIBUTION)}-{distribution.version.replace('-', '_')}"
    files = {f"{_PACKAGE.name}/{path}": data for path, data in sorted(_package_files().items())}
    # Of what lies beside an installation only these travel: the rest (RECORD, direct_url.json, INSTALLER, …) tells of
    # this machine, and WHEEL of the tool that made another wheel.
    for name in ("METADATA", "entry_points.txt"):
        files[f"{stem}.dist-info/{name}"] = (distribution.read_text(name) or "").encode()
    files[f"{stem}.dist-info/WHEEL"] = _WHEEL.encode()
    files[f"{stem}.dist-info/RECORD"] = _record(files, f"{stem}.dist-info/RECORD")
    return f"{stem}-py3-none-any.whl", _zip(files)


def _package_files() -> dict[str, bytes]:
    """Every file of the package by path below it, data included, without what running it has left there."""
    there = (path for path in _PACKAGE.rglob("*") if path.is_file() and path.suffix not in {".pyc", ".pyo"})
    files = {path.relative_to(_PACKAGE): path for path in there}
    return {inside.as_posix(): path.read_bytes() for inside, path in files.items() if not _NO_PART & {*inside.parts}}


def _record(files: dict[str, bytes], itself: str) -> bytes:
    """Path, digest and size of every file; of the record itself the path only."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")
        writer.writerow([path, f"sha256={digest}", len(data)])
    writer.writerow([itself, "", ""])
    return lines.getvalue().encode()


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in files.items():
            info = zipfile.ZipInfo(path, _EPOCH)
            info.compress_type = zipfile.ZIP_STORED  # each zlib packs in its own way
            info.create_system = 3  # Unix, wherever this runs: else the permissions mean nothing
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, data)
    return buffer.getvalue()

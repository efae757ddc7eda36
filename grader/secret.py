"""The course's secret: 32 random bytes in ``.grader/secret`` that seed the hidden inputs."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from grader.errors import EnvironmentRefused, UsageError

__all__ = ["course_secret", "hash_of"]

SIZE = 32


def course_secret(course: Path) -> tuple[bytes, bool]:
    """The secret of the course folder, and whether it was made just now. Raises UsageError for a damaged file,
    EnvironmentRefused where it cannot be made.
    """
    path = course / ".grader" / "secret"
    if path.exists():
        text = path.read_text(encoding="ascii", errors="replace").strip()
        try:
            secret = bytes.fromhex(text)
        except ValueError:
            secret = b""
        if len(secret) != SIZE:
            raise UsageError(
                f"{path} does not hold {SIZE} bytes in hexadecimal; restore it from a backup, or delete it"
            )
        return secret, False
    secret = secrets.token_bytes(SIZE)
    try:
        path.parent.mkdir(exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secret.hex() + "\n")
        except OSError:  # a disk that is full: half a secret would be taken for a damaged one
            path.unlink()
            raise
    except FileExistsError:  # another grading made it at this very moment
        return course_secret(course)
    except OSError as error:
        raise EnvironmentRefused(
            f"cannot make the course's secret {path}: {error.strerror}. Make the folder writable once,"
            " or copy a secret there"
        ) from error
    return secret, True


def hash_of(secret: bytes) -> str:
    """What a run may say of the secret: enough to tell two apart, not enough to find it."""
    return hashlib.sha256(b"grader course secret\0" + secret).hexdigest()[:16]

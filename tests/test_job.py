"""What passes between the grader and its slots survives the way, whatever entries are called."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.job import Done, Job, Task
from grader.model import Isolation


@given(student=st.text(st.characters(exclude_categories=["Cs"])), path=st.binary())
def test_a_task_is_one_line_and_comes_back(student: str, path: bytes) -> None:
    """A path is bytes, for file systems do not promise text; no name breaks the line."""
    task = Task(student, path, "0042")
    line = msgspec.json.encode(task)

    assert b"\n" not in line
    assert msgspec.json.decode(line, type=Task) == task


@given(text=st.text(st.characters(exclude_categories=["Cs"])), code=st.integers(0, 255))
def test_an_answer_is_one_line_and_comes_back(text: str, code: int) -> None:
    """A sentence of several lines, too."""
    done = Done(text, text, code)
    line = msgspec.json.encode(done)

    assert b"\n" not in line
    assert msgspec.json.decode(line, type=Done) == done


def test_a_job_comes_back() -> None:
    """With its isolation, and on the CPU unless something else was said."""
    job = Job("/a", "/r", "00ff", "h", Isolation("process", ("rlimits",)), device="cuda")

    assert msgspec.json.decode(msgspec.json.encode(job), type=Job) == job
    assert msgspec.json.decode(b'{"assignment":"a","results":"r","seed":"","seed_hash":"h",'
                               b'"isolation":{"tier":"process","applied":[]}}', type=Job).device == "cpu"  # fmt: skip


@pytest.mark.parametrize("line", [b"", b"{}", b"null", b'{"student":1,"path":""}', b'{"student":"a","path":"%"}'])
def test_a_line_that_is_no_task_is_refused(line: bytes) -> None:
    """It is our own fault, so it is an error and not an entry of an empty name."""
    with pytest.raises(msgspec.MsgspecError):
        msgspec.json.decode(line, type=Task)

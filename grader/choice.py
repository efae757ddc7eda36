"""Which file of an entry is the one to grade: the one of the right name, or the only one that can be meant."""

from __future__ import annotations

from pathlib import PurePosixPath

from grader import notebook, source
from grader.errors import UnreadableSubmission
from grader.members import LIMITS, Member, kind
from grader.model import Assignment
from grader.plain import shown

__all__ = ["choose", "notebook_name", "text_of"]

MAX_CANDIDATES = 20  # files looked into for the expected names, where none is called as it should be
MAX_SOUGHT = 2 * LIMITS[".py"]  # characters of all of them together: looking into a file costs a parse


def choose(inside: list[Member], assignment: Assignment) -> tuple[Member, tuple[str, ...]]:
    """The file to grade among ``inside``, which is in order of depth, and warnings for the student.

    The assignment's file, or else its notebook, at the shallowest place; of a file and a notebook side by side the one
    in which more exercises are written; else the only .py or .ipynb, or the only one that defines the exercises.
    Raises UnreadableSubmission with what was found.
    """
    for name in (assignment.file, notebook_name(assignment)):
        named = [member for member in inside if member.name == name]
        shallowest = [member for member in named if member.depth == named[0].depth]
        if len(shallowest) > 1:
            raise UnreadableSubmission(f"there are several: {_list(shallowest)}; keep one {shown(name)}")
        if shallowest:
            return _better(shallowest[0], inside, assignment)
    candidates = [member for member in inside if kind(member.name) in (".py", ".ipynb")]
    return _by_definitions(candidates, inside, assignment)


def text_of(data: bytes, member: Member) -> tuple[str, tuple[str, ...]]:
    """The bytes of ``member`` as Python text, and warnings. Raises UnreadableSubmission."""
    text, notes = source.decode(data, member.path)
    if kind(member.name) != ".ipynb":
        return text, notes
    text, more = notebook.to_source(text, member.path)
    return text, notes + more


def notebook_name(assignment: Assignment) -> str:
    """What the assignment's file is called as a notebook."""
    return PurePosixPath(assignment.file).stem + ".ipynb"


def _better(member: Member, inside: list[Member], assignment: Assignment) -> tuple[Member, tuple[str, ...]]:
    """Of the file and the notebook beside it, both of which a release holds, the one in which more is written."""
    beside = member.path.removesuffix(member.name) + notebook_name(assignment)
    twin = next((other for other in inside if other.path == beside and other is not member), None)
    if twin is None:
        return member, ()
    counts = {candidate: _written(candidate, assignment) for candidate in (member, twin)}
    best = twin if counts[twin] > counts[member] else member
    other = member if best is twin else twin
    note = (
        f"found {shown(member.path)} and {shown(twin.path)}; {shown(best.path)} was graded, with {counts[best]} of"
        f" {len(assignment.exercises)} exercises written, and not {shown(other.path)}, with {counts[other]}"
    )
    return best, (note,)


def _written(member: Member, assignment: Assignment) -> int:
    defined = source.definitions(_text(member))
    return sum(e.id in defined and not source.unfinished(defined[e.id]) for e in assignment.exercises)


def _by_definitions(
    candidates: list[Member], inside: list[Member], assignment: Assignment
) -> tuple[Member, tuple[str, ...]]:
    """The only file there is, or the only one that defines the expected names: all of them, else some of them."""
    if not candidates:
        found = f"found {_list(inside)}" if inside else "found no files"
        raise UnreadableSubmission(f"there is no {shown(assignment.file)}: {found}")
    if len(candidates) > MAX_CANDIDATES:
        raise UnreadableSubmission(
            f"there is no {shown(assignment.file)}, and too many files to try: {_list(candidates)}"
        )
    if len(candidates) > 1:
        expected = {exercise.id for exercise in assignment.exercises}
        texts = {member: _text(member) for member in candidates}
        if sum(map(len, texts.values())) > MAX_SOUGHT:
            raise UnreadableSubmission(
                f"there is no {shown(assignment.file)}, and the files hold too much text to try: {_list(candidates)}"
            )
        defined = [(member, expected & set(source.definitions(texts[member]))) for member in candidates]
        whole = [member for member, names in defined if names == expected]
        chosen = whole or [member for member, names in defined if names]
        if not chosen:
            raise UnreadableSubmission(
                f"there is no {shown(assignment.file)}, and none of {_list(candidates)} defines"
                f" {', '.join(shown(exercise.id) for exercise in assignment.exercises)}"
            )
        if len(chosen) > 1:
            raise UnreadableSubmission(
                f"there is no {shown(assignment.file)}, and several could be it: {_list(chosen)}"
            )
        candidates = chosen
    return candidates[0], (f"found {shown(candidates[0].path)} instead of {shown(assignment.file)}; it was graded",)


def _text(member: Member) -> str:
    """The text of ``member``; nothing where it cannot be read."""
    try:
        return text_of(member.read(), member)[0]
    except UnreadableSubmission:
        return ""


def _list(some: list[Member]) -> str:
    names = [shown(member.path) for member in some[:8]]
    return ", ".join(names) + (f" and {len(some) - 8} more" if len(some) > 8 else "")

"""The sample class of `make demo` scores as it deserves."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grade import grade
from tests import sample_class

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_demo_class_scores_as_deserved(tmp_path: Path) -> None:
    """At least fifteen submissions: right ones full, the stub 0, each mistake without its checks and nothing else."""
    (tmp_path / "assignments").symlink_to(ROOT / "assignments")
    (tmp_path / "solutions").symlink_to(ROOT / "solutions")
    entries = sample_class.sample_class(sample_class.losses(ROOT))
    sample_class.write(entries, tmp_path / "in")

    report = grade(
        tmp_path, "losses", [tmp_path / "in"], tmp_path / "out", jobs=2, tier="namespace", accept_unsandboxed=False
    )  # fmt: skip

    assert len(entries) >= 15
    assert report.errors == ()
    assert {score.student: (score.points, score.bonus) for score in report.scores} == {
        entry.name: (entry.points, entry.bonus) for entry in entries
    }
    assert {score.max_points for score in report.scores} == {36.0}

"""``make demo``, or ``python -m tests.demo TIER``: release `losses`, grade a class, show where the results lie."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

from tests import sample_class

__all__ = ["main"]

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results-demo"  # git-ignored, and made anew by each demo


def grader(*arguments: str | Path) -> None:
    """Run a command as a user would, and show it."""
    shown = [str(a.relative_to(ROOT)) if isinstance(a, Path) and a.is_relative_to(ROOT) else str(a) for a in arguments]
    print(f"\n$ grader {' '.join(shown)}", flush=True)
    subprocess.run([sys.executable, "-m", "grader", *shown], cwd=ROOT, check=True)


def main() -> None:
    """Everything from the solved source to the table; exits with 1 if a submission does not score as it deserves."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    entries = sample_class.sample_class(sample_class.losses(ROOT))
    submissions, results = RESULTS / "submissions", RESULTS / "graded"
    sample_class.write(entries, submissions)
    print(f"{len(entries)} submissions: {submissions}")
    grader("release", "losses")
    tier = sys.argv[1] if sys.argv[1:] else "namespace"
    grader("grade", "losses", submissions, "--out", results, "--isolation", tier)
    document = msgspec.json.decode((results / "scores.json").read_bytes())
    got = {score["student"]: (score["points"], score["bonus"]) for score in document["scores"]}
    deserved = {entry.name: (entry.points, entry.bonus) for entry in entries}
    odd = [name for name in deserved if got.get(name) != deserved[name]]
    for name in odd:
        print(f"{name} deserves {deserved[name]} and got {got.get(name)}", file=sys.stderr)
    if odd:
        sys.exit(1)
    one = results / "runs" / "17-mistake-logsumexp-detached-shift" / "0001.json"
    print(f"\nevery submission scored as it deserves; one of the runs, with its evidence: {one.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

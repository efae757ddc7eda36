"""``python -m grader``."""

from __future__ import annotations

from grader.cli import main

main()

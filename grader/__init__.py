"""Autograded exercises for deep-learning numerics.

    assignment + solution --release--> release ..(student)..> submission --run--> Run --score--> Score

Every arrow is a module with one public function; every noun is a frozen record in :mod:`grader.model`.
"""

import importlib
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

# torch says so at import when NumPy is absent, as it is on purpose: the package does without it.
warnings.filterwarnings("ignore", message="Failed to initialize NumPy", category=UserWarning)

__version__ = "0.1.0"

check: Callable[[str], None]  # what a notebook calls, from `grader.jupyter`

if not TYPE_CHECKING:  # or every other name would pass for one of this package

    def __getattr__(name: str) -> Any:
        """`check` needs torch and pytest, which `import grader` must not cost."""
        if name == "check":
            return importlib.import_module("grader.jupyter").check
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

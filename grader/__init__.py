"""Autograded exercises for deep-learning numerics.

    assignment + solution --release--> release ..(student)..> submission --run--> Run --score--> Score

Every arrow is a module with one public function; every noun is a frozen record in :mod:`grader.model`.
"""

import warnings

# torch says so at import when NumPy is absent, as it is on purpose: the package does without it.
warnings.filterwarnings("ignore", message="Failed to initialize NumPy", category=UserWarning)

__version__ = "0.1.0"

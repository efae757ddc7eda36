"""``python -m tests.verify_with THREADS ID…``: the document of the gate, as workers with so many threads come to it.

A program of its own, for vector kernels are chosen once per process: by ATEN_CPU_CAPABILITY, which is handed on to the
workers here although grading keeps it from them. The document's ``worker`` says what was really in force.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import torch

from grader import isolation, verify
from grader.model import Limits, Run, Submission
from grader.remote import RemoteHandle
from grader.run import run
from grader.verdict import verdict_document
from tests.arena import SECRET

ASKED = "import torch\ndef f(): return [torch.backends.cpu.get_cpu_capability(), torch.get_num_threads()]\n"


def main() -> None:
    """Patch what decides threads and kernels, then prove the assignments."""
    threads = int(sys.argv[1])
    first = f"__import__('torch').set_num_threads({threads})\n"
    torch.set_num_threads(threads)
    if capability := os.environ.get("ATEN_CPU_CAPABILITY"):
        isolation.ENVIRONMENT["ATEN_CPU_CAPABILITY"] = capability

    def run_with(submission: Submission, *rest: Any) -> Run:
        assert submission.source is not None
        return run(msgspec.structs.replace(submission, source=first + submission.source), *rest)

    setattr(verify, "run", run_with)  # noqa: B010 - it is not ours to export
    verdicts = [(verify.verify(Path("assignments") / id_, SECRET), 0.0) for id_ in sys.argv[2:]]
    document = json.loads(verdict_document(verdicts, strict=True))
    with isolation.Zygote(Limits(), "process") as zygote:
        handle = RemoteHandle(zygote, first + ASKED, "asked.py", Limits())
        document["worker"] = handle.f()
        handle.close()
    print(json.dumps(document))


if __name__ == "__main__":
    main()

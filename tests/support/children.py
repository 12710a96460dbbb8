"""Test programs as separate processes, one or many at the same moment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path


class Children:
    """One of the programs in this directory, which prints that it is ready and waits for a line."""

    def __init__(self, program: str, processes: int) -> None:
        self._program = Path(__file__).with_name(program)
        self._processes = processes

    def start(self, path: Path, verb: str, count: int, **environment: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, str(self._program), str(path), verb, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | environment,
        )

    def run_together(self, path: Path, verb: str, count: int) -> Counter[bytes]:
        """Return the output of the processes that were started at the same moment."""
        children = [self.start(path, verb, count) for _ in range(self._processes)]
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write(b"\n")
            child.stdin.flush()
        outputs = [child.communicate()[0] for child in children]
        assert [child.returncode for child in children] == [0] * self._processes
        return Counter(line for output in outputs for line in output.splitlines())

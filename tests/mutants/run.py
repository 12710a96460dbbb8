"""Runs tests on a copy of the package, so that the working tree is never changed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import psutil
from msgspec import Struct

from mutants.apply import mutate_file
from mutants.table import Mutant

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "ostler"
TIMEOUT_SECONDS = 120.0  # for each test of a run
_FOREIGN = ("PYTEST_", "OSTLER_")
_TEST_TIMEOUT_SECONDS = 60
# No test of the table needs these plugins, and loading them takes as long as most tests.
_PLUGINS = ("-p", "no:schemathesis", "-p", "no:xdist", "-p", "no:rerunfailures", "-p", "no:anyio")

# "skipped" and "failed" prove nothing: this machine cannot run the tests, or pytest could not.
Outcome = Literal["killed", "survived", "skipped", "failed"]


class Result(Struct, frozen=True):
    """How the tests ended on one copy."""

    name: str
    outcome: Outcome
    seconds: float
    output: str


def run_mutant(mutant: Mutant) -> Result:
    """Run the tests of one mutant on a mutated copy."""
    return _run(mutant.name, mutant.tests, mutant)


def run_control(tests: Sequence[str]) -> Result:
    """Run tests on a copy without a mutant; anything but `survived` makes every kill worthless."""
    return _run("(no mutant)", tests, None)


def _run(name: str, tests: Sequence[str], mutant: Mutant | None) -> Result:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "src" / "ostler"
        # With its compiled files: copytree keeps the times, so they stay valid.
        shutil.copytree(PACKAGE, copy)
        if mutant is not None:
            _forget_compiled(mutate_file(copy, mutant))
        try:
            status, output = _pytest(copy.parent, tests, Path(folder) / "t")
        finally:
            _end_leftovers(folder)
    seconds = time.monotonic() - began
    return Result(name, _judge(status, output), seconds, output)


def _judge(status: int, output: str) -> Outcome:
    """Return what the exit status of pytest means for the mutant."""
    if status == 1 and re.search(r"\b\d+ (failed|errors?)\b", output):
        return "killed"
    if status != 0:
        return "failed"
    return "survived" if re.search(r"\b\d+ passed\b", output) else "skipped"


def _end_leftovers(folder: str) -> None:
    """Kill what a mutant made the tests leave: it works in the folder, or has it in its arguments."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.cwd().startswith(folder) or any(folder in word for word in process.cmdline()):
                process.kill()


def _forget_compiled(path: Path) -> None:
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _pytest(copy: Path, tests: Sequence[str], temporary: Path) -> tuple[int, str]:
    """Return the exit status of pytest, and what it printed."""
    # PYTHONPATH precedes the path of the editable install, in this process and in those that tests start.
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    environ["PYTHONPATH"] = str(copy)
    environ["OSTLER_FULL"] = "1"  # all cases of the test: a sample may not contain the one that detects it
    command = [sys.executable, "-m", "pytest", "-x", "--timeout", str(_TEST_TIMEOUT_SECONDS), *_PLUGINS]
    command += ["--basetemp", str(temporary), *(f"tests/{test}" for test in tests)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=TIMEOUT_SECONDS * len(tests))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return process.returncode, output.decode(errors="replace")

"""The attempt of a process, from its environment and its parents."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostler.errors import UsageError
from ostler.project.running.current_attempt import CurrentAttempt, find_current_attempt

ASK = """
import pathlib, sys
from ostler.errors import UsageError
from ostler.project.running.current_attempt import find_current_attempt
environ = dict(zip(sys.argv[2::2], sys.argv[3::2]))
try:
    print(find_current_attempt(environ, pathlib.Path(sys.argv[1])))
except UsageError as error:
    print(error.message)
"""


def marks(task: str, attempt: int = 1) -> dict[str, str]:
    return {"OSTLER_TASK": task, "OSTLER_ATTEMPT": f"store:{task}:{attempt}"}


def asked_below(parent: dict[str, str], own: dict[str, str], root: Path) -> str:
    """Return what a process with the environment `own` finds below a shell with `parent`."""
    words = [word for mark in own.items() for word in mark]
    shell = '"$@"; exit $?'
    done = subprocess.run(
        ["sh", "-c", shell, "sh", sys.executable, "-c", ASK, str(root), *words],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **parent},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_process_without_marks_has_no_attempt(tmp_path: Path) -> None:
    """Neither a person's process nor one of an agent without a task is in an attempt."""
    assert find_current_attempt({}, tmp_path) is None
    assert find_current_attempt({"OSTLER_ATTEMPT": "store:session:1"}, None) is None


def test_own_marks_name_the_attempt(tmp_path: Path) -> None:
    """For any project."""
    assert find_current_attempt(marks("a-task", 12), tmp_path) == CurrentAttempt("a-task", 12)


@pytest.mark.parametrize("marker", ["", "1", "store:other:1", "store:a-task:x", "store:a-task:", "a-task"])
def test_marks_that_do_not_fit_are_refused(marker: str) -> None:
    """Incomplete variables are an error."""
    with pytest.raises(UsageError, match="OSTLER_ATTEMPT is not an attempt of a-task"):
        find_current_attempt({"OSTLER_TASK": "a-task", "OSTLER_ATTEMPT": marker}, None)


def test_a_process_above_counts_where_the_own_marks_are_gone(tmp_path: Path) -> None:
    """A server that inherits no environment is found by its parents."""
    above = marks("a-task", 3) | {"OSTLER_PROJECT": str(tmp_path)}
    assert asked_below(above, {}, tmp_path) == "CurrentAttempt(task='a-task', attempt=3)"
    assert asked_below(above, marks("a-task", 3), tmp_path) == "CurrentAttempt(task='a-task', attempt=3)"


def test_a_process_below_an_agent_has_no_other_attempt(tmp_path: Path) -> None:
    """Neither another task nor another attempt can be claimed."""
    above = marks("a-task") | {"OSTLER_PROJECT": str(tmp_path)}
    for forged, name in (
        (marks("b-task"), "attempt 1 of b-task"),
        (marks("a-task", 2), "attempt 2 of a-task"),
    ):
        printed = asked_below(above, forged, tmp_path)
        assert printed == f"this process claims to belong to attempt 1 of a-task and {name}"


def test_an_agent_of_another_project_above_is_none_of_ours(tmp_path: Path) -> None:
    """As in a task that works on Ostler and whose tests start tasks."""
    above = marks("a-task") | {"OSTLER_PROJECT": str(tmp_path / "elsewhere")}
    assert asked_below(above, {}, tmp_path) == "None"
    assert asked_below(above, marks("b-task"), tmp_path) == "CurrentAttempt(task='b-task', attempt=1)"

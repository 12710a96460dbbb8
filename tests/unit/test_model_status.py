"""Older spellings of statuses and codes are accepted."""

from __future__ import annotations

import pytest

from ostler.errors import CODES, Code, read_code
from ostler.model.status import TRANSITIONS, TaskStatus, read_status


@pytest.mark.parametrize(
    ("word", "status"),
    [("in-progress", "in_progress"), ("running", "in_progress"), ("in_review", "needs_review")],
)
def test_the_seeds_statuses(word: str, status: str) -> None:
    """Each older spelling maps to a status."""
    assert read_status(word) == status == read_status(status)


@pytest.mark.parametrize(("word", "code"), [("ERR_CLI_NOT_FOUND", "AGENT_NOT_FOUND"), ("TIMEOUT", "TIMEOUT")])
def test_the_seeds_codes(word: str, code: str) -> None:
    """Each older spelling maps to a code."""
    assert read_code(word) == code


def test_every_code_and_status_has_its_row() -> None:
    """The tables are complete, and a terminal status is left only by being reopened."""
    assert set(CODES) == set(Code) and set(TRANSITIONS) == set(TaskStatus)
    assert TRANSITIONS[TaskStatus.FAILED] == {TaskStatus.PENDING}

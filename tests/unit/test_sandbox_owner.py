"""Which groups and containers belong to a run that is dead."""

from __future__ import annotations

import os

import pytest

from ostler.sandbox.owner import create_name, is_of_dead_run


def test_names_are_new_and_safe() -> None:
    """Two names for one attempt differ, and have only characters that engines and groups accept."""
    first, second = create_name("T1:3"), create_name("T1:3")
    assert first != second
    assert first.endswith("-T1-3")
    assert len(create_name("x" * 999)) < 200
    assert "/" not in create_name("../../x")


@pytest.mark.parametrize(
    ("part", "replacement", "dead"),
    [
        (0, None, False),  # this run
        (3, "1", True),  # process 1 began at another time
        (4, "7", True),  # the number was used again
        (1, "00000000", True),  # before the last boot
        (2, "4026531000", False),  # another pid namespace, whose processes have other numbers
    ],
)
def test_a_run_is_dead_when_its_process_is(part: int, replacement: str | None, dead: bool) -> None:
    """In doubt it is not."""
    parts = create_name("T1:3").split("-")
    assert parts[3] == str(os.getpid())
    if replacement is not None:
        parts[part] = replacement
    assert is_of_dead_run("-".join(parts)) is dead


@pytest.mark.parametrize("name", ["postgres", "ostler-x", "", "ostler-1-2-3"])
def test_names_of_others_are_not_ours(name: str) -> None:
    """Nothing else is ever removed."""
    assert not is_of_dead_run(name)

"""Recorded histories of each rules version: decide and evolve still make of them what they did."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from histories import HISTORIES, decode_records, describe, read_histories
from ostler.engine.core.rules import RULES
from ostler.engine.core.step import Step
from ostler.model.state import Stage

FILES = sorted(HISTORIES.glob("*.xz"))


def rules_of(path: Path) -> int:
    return int(path.name.partition(".")[0].removeprefix("rules-"))


def test_each_rules_version_has_recorded_histories() -> None:
    """New rules are recorded with tests/data/histories/record.py before they are released."""
    assert [rules_of(path) for path in FILES] == [*range(1, RULES + 1)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_a_recorded_history_leads_to_the_same_states_and_steps(path: Path) -> None:
    """A change of decide or evolve that does not ask for the rules of the task fails here."""
    different = [
        f"{name}: record {line['record']['seq']} {line['record']['event']['type']}"
        for name, lines in read_histories(path).items()
        for line, made in zip(lines, describe(decode_records(of(lines))), strict=True)
        if made["changed"] != line["changed"] or not has_fields(made["step"], line["step"])
    ]
    assert not different, "the rules decide other than they did; see HOST_RULES for a change with new rules"


@pytest.mark.parametrize("path", FILES[1:], ids=lambda path: path.name.partition(".")[0])
def test_the_histories_contain_each_step_and_stage(path: Path) -> None:
    """The recorded tasks go through all of the core: a rule that nothing recorded is not protected."""
    lines = [line for lines in read_histories(path).values() for line in lines]
    assert {line["step"]["type"] for line in lines if line["step"]} == {one.__name__ for one in Step.__args__}
    stages = {line["changed"]["stage"] for line in lines if line["changed"].get("stage")}
    # A phase commits after each iteration only with weights that no test of the list uses.
    assert stages >= set(Stage) - {Stage.NEW, Stage.ITERATED}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_the_records_of_a_history_are_numbered(path: Path) -> None:
    """Each history starts with the creation of its task, and has every record after it."""
    for lines in read_histories(path).values():
        records = of(lines)
        assert records[0]["event"]["type"] == "task_created"
        assert all(second["seq"] == first["seq"] + 1 for first, second in pairwise(records))


def of(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line["record"] for line in lines]


def has_fields(step: dict[str, Any] | None, recorded: dict[str, Any] | None) -> bool:
    """Return whether the step has each recorded field; a step may get more fields in a later version."""
    if step is None or recorded is None:
        return step is recorded
    return all(step.get(name) == value for name, value in recorded.items())

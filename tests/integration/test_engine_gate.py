"""The result of a gate; the auto gate and the human gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import GateWorld
from ostler.engine.core.evolve import evolve
from ostler.engine.steps.gates.result import GateResult
from ostler.errors import Code, WarningCode
from ostler.model.event import GateDecided, GateWaiting, Record
from ostler.model.notice import PhaseFailed, PhaseRetried
from ostler.model.plan import Gate, GateType
from ostler.model.state import Stage


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return GateWorld(tmp_path)


def fold(world: GateWorld, gate: Gate) -> None:
    """Check the gate and fold its result."""
    event = world.check(gate).event
    world.state = evolve(world.state, Record(world.task.id, world.state.seq + 1, 1.0, event))


def test_the_third_time_is_once_too_often(world: GateWorld) -> None:
    """There are two retries with their contexts; then the task is blocked without a retry notice."""
    gate = Gate("command", command="date +%N; exit 1")
    for number in (1, 2):
        answer = world.check(gate)
        assert answer.notices == (
            PhaseRetried("test", "implement", number, f"retry-context-test-{number}.md"),
        )
        fold(world, gate)
        assert world.state.current.id == "implement"
        phases = (world.state.phases[0], replace(world.state.phases[1], status="running"))
        world.state = replace(world.state, phase=1, stage=Stage.CHECKING, phases=phases)
    answer = world.check(gate)
    assert isinstance(answer.notices[0], PhaseFailed) and answer.notices[0].code is Code.GATE_REJECTED
    assert sorted(path.name for path in world.home.glob("retry-context*")) == [
        "retry-context-test-1.md",
        "retry-context-test-2.md",
    ]
    assert sorted(path.name for path in (world.home / "gates").iterdir()) == [
        f"test-{n}.log" for n in (1, 2, 3)
    ]


def test_the_same_failure_again_and_again_is_seen(world: GateWorld) -> None:
    """Signatures ignore time and path, so that the core detects STUCK."""
    world.state = replace(world.state, plan=replace(world.state.plan, max_phase_retries=9))
    for _ in range(3):
        fold(world, Gate("command", command="pwd; date +%s%N; echo 'AssertionError: 1 != 2'; exit 1"))
        if world.state.ending is None:
            world.state = replace(world.state, phase=1, stage=Stage.CHECKING)
    assert world.state.ending is not None and world.state.ending.code is Code.STUCK


def test_the_gate_before_publishing_goes_back_to_the_work(world: GateWorld) -> None:
    """The retry context is stored under the current phase, where the next call reads it."""
    world.state = replace(world.state, stage=Stage.MERGING)
    answer = world.check(Gate("command", command="exit 1"), phase="merge")
    assert answer.notices == (PhaseRetried("merge", "implement", 1, "retry-context-test-1.md"),)
    assert isinstance(answer.event, GateDecided) and answer.event.output == "gates/merge-1.log"


@pytest.mark.parametrize(
    ("text", "verdict"), [("All tests pass, 0 errors", "pass"), ("Error: it broke", "fail"), ("", "fail")]
)
def test_the_criteria_are_checked_against_the_last_answer(world: GateWorld, text: str, verdict: str) -> None:
    """The criteria are checked against the answer file named in the state."""
    world.say(text)
    event = world.check(Gate("auto", ("has_output", "no_errors"))).event
    assert isinstance(event, GateDecided) and event.verdict == verdict
    assert bool(event.signature) == (verdict == "fail")


@pytest.mark.parametrize("kind", ["human", "auto"])
def test_a_failed_check_that_only_warns_is_recorded(world: GateWorld, kind: GateType) -> None:
    """Also when a person or the answer decides."""
    world.say("done")
    check = {"command": "false", "phase": "test", "on_failure": "warn"}
    event = world.check(Gate(kind, ("has_output",)), world.settings(checks={"lint": check})).event
    assert isinstance(event, GateWaiting | GateDecided)
    assert len(event.warnings) == 1 and event.warnings[0].startswith("check lint: ")


def test_weakened_checks_are_a_warning_of_every_gate(
    world: GateWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check after the command does not remove the warnings of the command."""

    async def weakened(*_: object) -> GateResult:
        return GateResult("pass", warnings=(WarningCode.CHECKS_WEAKENED,))

    monkeypatch.setattr("ostler.engine.steps.gates.command.run_command_gate", weakened)
    world.say("done")
    event = world.check(Gate("auto", ("has_output",), command="true")).event
    assert isinstance(event, GateDecided) and event.warnings == (WarningCode.CHECKS_WEAKENED,)


def test_a_person_is_shown_what_to_review(world: GateWorld) -> None:
    """The message has the commit, its size and the criteria."""
    world.state = replace(world.state, base=world.commit)
    world.commit = world.world.commit({"b.txt": "1\n2\n"})
    event = world.check(Gate("human", ("the greeting is friendly",))).event
    assert isinstance(event, GateWaiting) and event.sha == world.commit
    for part in (
        world.commit[:10],
        "1 file, +2 -0",
        "the greeting is friendly",
    ):
        assert part in event.reason
    assert world.executor.calls == []

"""The ai gate: the input of a reviewer, and how its answer is parsed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import GateWorld
from ostler.engine.core.evolve import evolve
from ostler.errors import Code
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.event import GateDecided, Record, TaskDeferred, TaskPaused
from ostler.model.notice import PhaseRetried
from ostler.model.plan import Gate
from ostler.model.state import Stage
from ostler.model.status import TaskStatus

YES = '{"verdict": "approved", "reason": "all is well", "findings": []}'
NO = '{"verdict": "rejected", "reason": "it does not greet", "findings": ["a.txt: say hello"]}'


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return GateWorld(tmp_path)


def answering(world: GateWorld, *texts: str) -> None:
    """Make the reviewer give these answers in order."""
    rest = list(texts)

    async def answer(call: AgentCall, on_event: OnEvent) -> CallResult:
        return CallResult(code=None, text=rest.pop(0), session_id=call.session_id)

    world.executor.spawn_function = world.executor.resume_function = answer


def test_a_reviewer_sees_the_commit_and_approves(world: GateWorld) -> None:
    """The review runs in a temporary checkout; its attempt is recorded like any other."""
    world.commit = world.world.commit({"b.txt": "greetings\n"})
    world.say("I greet now.")
    seen: list[tuple[AgentCall, set[str]]] = []

    async def look(call: AgentCall, on_event: OnEvent) -> CallResult:
        seen.append((call, set(os.listdir(call.cwd))))
        (Path(call.cwd) / "a.txt").write_text("changed by the reviewer")
        return CallResult(code=None, text=YES, session_id=call.session_id)

    world.executor.spawn_function = look
    event = world.check(Gate("ai", ("it greets",))).event
    assert isinstance(event, GateDecided)
    assert (event.verdict, event.reason, event.sha) == ("pass", "all is well", world.commit)
    ((call, names),) = seen
    assert "b.txt" in names and not Path(call.cwd).is_relative_to(world.root)
    for part in ("+greetings", "- it greets", "I greet now.", "Say hello."):
        assert part in call.prompt
    (attempt,) = world.project.journal.attempts(world.task.id)
    assert (attempt.phase, attempt.status, attempt.model_name) == ("test-gate", "succeeded", "mock-reviewer")
    assert not attempt.step.startswith(f"{world.task.id}/")
    assert (world.home / event.output).read_text().strip() == YES
    assert world.leftovers() == []


def test_a_rejection_sends_the_work_back(world: GateWorld) -> None:
    """The retry context has the reason and every finding."""
    answering(world, f"I looked.\n{NO}")
    answer = world.check(Gate("ai"))
    event = answer.event
    assert isinstance(event, GateDecided) and (event.verdict, event.reason) == ("fail", "it does not greet")
    assert event.signature and isinstance(answer.notices[0], PhaseRetried)
    assert "a.txt: say hello" in (world.home / answer.notices[0].context).read_text()


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        (("APPROVED: fine", YES), "pass"),
        (("APPROVED: fine", NO), "fail"),
        (("APPROVED: fine", "I approve of it"), "could_not_run"),
        ((f"{YES}\n{NO}", f"{YES}\n{NO}"), "could_not_run"),
    ],
)
def test_what_cannot_be_read_is_asked_for_once_more(
    world: GateWorld, answers: tuple[str, ...], verdict: str
) -> None:
    """The reviewer is called again in the same session; then there is no verdict, never a pass (C107)."""
    answering(world, *answers)
    event = world.check(Gate("ai")).event
    assert isinstance(event, GateDecided) and event.verdict == verdict
    first, second = (call for _, call in world.executor.calls)
    assert first.session_id == second.session_id
    assert "could not be parsed" in second.prompt and "could not be parsed" not in first.prompt


@pytest.mark.parametrize("code", [Code.MODEL_NOT_FOUND, Code.API_ERROR])
def test_a_reviewer_that_cannot_run_gives_no_verdict(world: GateWorld, code: Code) -> None:
    """The reason contains the code."""

    async def fail(call: AgentCall, on_event: OnEvent) -> CallResult:
        return CallResult(code=code, message="no luck")

    world.executor.spawn_function = world.executor.resume_function = fail
    settings = world.settings()
    settings = replace(settings, retry=replace(settings.retry, max_retries=0))
    event = world.check(Gate("ai"), settings).event
    assert isinstance(event, GateDecided) and event.verdict == "could_not_run" and code in event.reason
    assert world.leftovers() == []


def test_a_limit_defers_the_task(world: GateWorld) -> None:
    """The gate is checked again after the limit."""

    async def limited(call: AgentCall, on_event: OnEvent) -> CallResult:
        return CallResult(code=Code.QUOTA_EXCEEDED, message="come back later", retry_after_seconds=3600)

    world.executor.spawn_function = limited
    event = world.check(Gate("ai")).event
    assert isinstance(event, TaskDeferred) and event.resumes_at > time.time()
    after = evolve(world.state, Record(world.task.id, world.state.seq + 1, 1.0, event))
    assert (after.status, after.stage) == (TaskStatus.DEFERRED, Stage.CHECKING)


def test_an_exhausted_budget_pauses_the_task(tmp_path: Path) -> None:
    """Calls of a gate count towards the budget."""
    world = GateWorld(tmp_path, budget_usd=0.0)
    event = world.check(Gate("ai")).event
    assert isinstance(event, TaskPaused) and event.code is Code.BUDGET_EXCEEDED
    assert world.executor.calls == []


def test_a_budget_that_was_raised_pays_for_the_gate(tmp_path: Path) -> None:
    """A budget of `retry --budget-usd` also applies to a reviewer."""
    world = GateWorld(tmp_path, budget_usd=0.0)
    world.project.act(world.task.id, "pause")
    world.project.act(world.task.id, "retry", budget_usd=5.0)
    world.executor.capabilities = replace(world.executor.capabilities, reports_cost=True)
    answering(world, YES)
    event = world.check(Gate("ai")).event
    assert isinstance(event, GateDecided) and event.verdict == "pass"


def test_without_git_a_reviewer_looks_at_the_project(world: GateWorld) -> None:
    """Without commit and checkout, the answer and the files are reviewed."""
    world.git = False
    answering(world, YES)
    event = world.check(Gate("ai")).event
    assert isinstance(event, GateDecided) and (event.verdict, event.sha) == ("pass", None)
    ((_, call),) = world.executor.calls
    assert call.cwd == str(world.root)

"""C133: work that is sent back continues in the session of the phase that did it."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.testing.fake_agent import fake_agent
from world import KILL, World

HUMAN = '[gates.phases]\nimplement = "human"\n'
TESTED = '[gates.commands]\ntest = "grep -q right answer.txt"\n'
REVIEWED = '[gates.phases]\nimplement = "ai"\n'
FIXES = [
    {"contains": "This phase: test", "edits": {}},
    {"contains": "What went wrong before", "files": {"answer.txt": "right\n"}},
]
RESUMING = ("claude", "codex", "cursor", "gemini", "opencode", "qwen", "copilot", "acp")


def behave(world: World, name: str = "claude", **behaviour: Any) -> None:
    """Let this agent run the tasks; its sessions are kept from one start to the next."""
    sessions = str(world.agents / "sessions")
    path = fake_agent(world.agents, name, ledger=str(world.ledger), sessions=sessions, **behaviour)
    world.environ |= {f"OSTLER_{name.upper()}_PATH": str(path), "OSTLER_RUN__EXECUTOR": name}


def configure(world: World, text: str) -> None:
    (world.root / "ostler.toml").write_text(text)


def calls_of(world: World, task: str, phase: str = "implement") -> list[dict[str, Any]]:
    return [one for one in world.show(task)["attempts"] if one["phase"] == phase]


def prompt_of(world: World, task: str, attempt: dict[str, Any]) -> str:
    name = f"{attempt['phase']}-{attempt['number']:03}.md"
    return (world.root / ".ostler" / "tasks" / task / "prompts" / name).read_text()


def check_continued(world: World, task: str, findings: str, rounds: int = 2) -> None:
    """One session, one more iteration per round, and only the findings in the later prompts."""
    calls = calls_of(world, task)
    assert len({one["session_id"] for one in calls}) == 1
    assert [one["resumed"] for one in calls] == [False] + [True] * (rounds - 1)
    assert [one["iteration"] for one in calls] == [*range(1, rounds + 1)]
    first, *later = (prompt_of(world, task, one) for one in calls)
    assert "It squeaks in the wind." in first
    assert all(findings in text and "It squeaks in the wind." not in text for text in later)


def new_task(world: World, phases: str = "implement", weight: str = "small") -> str:
    return world.new("Mend the gate", "-d", "It squeaks in the wind.", "--weight", weight, "--phases", phases)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("weight", ["trivial", "small", "large"])
@pytest.mark.parametrize("name", RESUMING)
def test_a_rejection_reaches_the_same_session(name: str, weight: str, world: World) -> None:
    """`reject -m` twice: the session of the first call gets each message, whatever the weight."""
    behave(world, name)
    configure(world, HUMAN)
    task = new_task(world, weight=weight)
    world.ostler("run", task, code=4)
    for _ in range(2):
        world.ostler("reject", task, "-m", "Use oil, not paint.")
        world.ostler("run", task, code=4)
    check_continued(world, task, "Use oil, not paint.", rounds=3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", RESUMING)
def test_a_failed_test_gate_continues_the_session_of_implement(name: str, world: World) -> None:
    """The gate of a later phase sends the work back: implement has its session, test gets a new one."""
    behave(world, name, edits={"answer.txt": "wrong"}, when=FIXES)
    configure(world, TESTED)
    task = new_task(world, "implement,test")
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    check_continued(world, task, "What went wrong before")
    assert [one["resumed"] for one in calls_of(world, task, "test")] == [False, False]
    started = [one["phase"] for one in world.events(task) if one["type"] == "phase_started"]
    assert started == ["implement", "test"] * 2


def test_findings_of_an_ai_gate_reach_the_same_session(world: World) -> None:
    """The reviewer has sessions of its own, also with the same executor."""
    verdicts = [{"verdict": "rejected", "reason": "It is dry.", "findings": ["No oil."]}]
    verdicts.append({"verdict": "approved", "reason": "It is quiet.", "findings": []})
    work: dict[str, object] = {"edits": {"gate.txt": "oiled"}}
    plan = [work, {"edits": {}, "structured": verdicts[0]}, work, {"edits": {}, "structured": verdicts[1]}]
    behave(world, plan=plan)
    configure(world, REVIEWED)
    task = new_task(world)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    check_continued(world, task, "- No oil.")
    reviews = calls_of(world, task, "implement-gate")
    assert [one["iteration"] for one in reviews] == [1, 2]
    sessions = [one["session_id"] for one in (*reviews, calls_of(world, task)[0])]
    assert len(set(sessions)) == 3


def test_a_lost_session_is_replaced_with_a_summary(world: World) -> None:
    """The agent has forgotten the session: a new one gets the task, the findings and the work so far."""
    behave(world, plan=["ok", "a25_forgets"])
    configure(world, HUMAN)
    task = new_task(world)
    world.ostler("run", task, code=4)
    world.ostler("reject", task, "-m", "Use oil, not paint.")
    world.ostler("run", task, code=4)
    second = calls_of(world, task)[1]
    (replaced,) = [one for one in world.events(task) if one["type"] == "session_replaced"]
    assert (replaced["session_id"], replaced["resumed"]) == (second["session_id"], False)
    text = prompt_of(world, task, second)
    for part in ("It squeaks in the wind.", "## The previous session was lost", "Use oil, not paint."):
        assert text.count(part) == 1
    assert "You have not stated whether the work is complete" not in text


def test_a_session_lost_in_a_later_round_has_the_work_of_the_first_one(world: World) -> None:
    """The gate of test sent the work back: the summary has the attempts before that."""
    plan = [{"edits": {"answer.txt": "wrong"}}, {"edits": {}}, "a25_forgets", {"edits": {}}]
    behave(world, plan=plan)
    configure(world, TESTED + "[phases]\nmax_phase_retries = 1\n")
    task = new_task(world, "implement,test")
    world.ostler("run", task, code=4)
    text = prompt_of(world, task, calls_of(world, task)[1])
    assert "- 1 (implement, iteration 1, claude) succeeded" in text
    assert "It squeaks in the wind." in text and "What went wrong before" in text


@pytest.mark.sampled(1)
@pytest.mark.parametrize("point", ["attempt.begin", "attempt.begun", "attempt.end", "attempt.ended"])
def test_a_crash_after_the_rejection_changes_nothing(point: str, world: World) -> None:
    """Killed at the retried call: the next run continues the same session with the findings."""
    behave(world)
    configure(world, HUMAN)
    task = new_task(world)
    world.ostler("run", task, code=4)
    world.ostler("reject", task, "-m", "Use oil, not paint.")
    world.ostler("run", task, code=-KILL, OSTLER_FAILPOINT=f"{point}:kill:1")
    world.ostler("run", task, code=4)
    calls = calls_of(world, task)
    assert len({one["session_id"] for one in calls}) == 1 and all(one["resumed"] for one in calls[1:])
    assert "Use oil, not paint." in prompt_of(world, task, calls[-1])


@pytest.mark.full
def test_a_rewind_starts_a_new_session(world: World) -> None:
    """The work was discarded: the session that has it is not continued, now or after a rejection."""
    behave(world)
    configure(world, HUMAN)
    task = new_task(world)
    world.ostler("run", task, code=4)
    world.ostler("rewind", task, "--to", "implement")
    world.ostler("run", task, code=4)
    world.ostler("reject", task, "-m", "Use oil, not paint.")
    world.ostler("run", task, code=4)
    first, second, third = calls_of(world, task)
    assert first["session_id"] != second["session_id"] == third["session_id"]
    assert [one["resumed"] for one in (first, second, third)] == [False, False, True]


def test_an_agent_without_sessions_gets_the_whole_prompt(world: World) -> None:
    """A command cannot resume: it gets the task again, with the findings."""
    configure(
        world,
        HUMAN + '[executors.mine]\ntype = "command"\ncommand = "sh"\nargs = ["-c", "cat >> got.txt"]\n',
    )
    world.environ["OSTLER_RUN__EXECUTOR"] = "mine"
    task = new_task(world)
    world.ostler("run", task, code=4)
    world.ostler("reject", task, "-m", "Use oil, not paint.")
    world.ostler("run", task, code=4)
    second = calls_of(world, task)[1]
    assert not second["resumed"]
    text = prompt_of(world, task, second)
    assert "It squeaks in the wind." in text and "Use oil, not paint." in text

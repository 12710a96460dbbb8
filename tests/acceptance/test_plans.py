"""Plans of every size through the whole program: sent back, stopped and continued (C93-C102, C105)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostler.testing.fake_agent import COMPLETE
from workflow_world import COMMAND, RIGHT, WORSE, WorkflowWorld
from world import INTERRUPT, end, wait_until

SPEC = "R1. add(3, 4) is 7, seen by test_calc.py."
RESEARCH = "The sum is made in calc.py alone."
TELLERS: list[dict[str, Any]] = [
    {"contains": "This phase: research", "files": {}, "text": f"{RESEARCH}\n\n{COMPLETE}"},
    {"contains": "This phase: spec", "files": {}, "text": f"{SPEC}\n\n{COMPLETE}"},
    {"contains": "This phase: implement", "files": {"calc.py": RIGHT}},
]
GATED = f'[gates.commands]\ntest = "{COMMAND}"\n'
NEVER_MENDS: dict[str, Any] = {"when": [], "files": {"calc.py": WORSE}}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WorkflowWorld]:
    made = WorkflowWorld(tmp_path, GATED, when=TELLERS, files={})
    yield made
    made.close()


def phases(world: WorkflowWorld, task: str) -> dict[str, str]:
    return {phase["id"]: phase["status"] for phase in world.show(task)["phases"]}


def prompt_of(world: WorkflowWorld, phase: str) -> str:
    return next(text for text in world.received_prompts() if f"This phase: {phase}" in text)


@pytest.mark.parametrize(
    ("weight", "names"),
    [
        ("trivial", ["implement"]),
        ("small", ["implement", "test"]),
        ("medium", ["implement", "test"]),
        ("large", ["spec", "implement", "test", "validate"]),
        ("greenfield", ["research", "spec", "implement", "test", "validate"]),
    ],
)
@pytest.mark.sampled(2)
def test_every_weight_has_its_phases(world: WorkflowWorld, weight: str, names: list[str]) -> None:
    """Each is called once and committed once, and later ones get the results of earlier ones."""
    task = world.new("Mend the sum", "--weight", weight)
    world.ostler("run", task)
    assert phases(world, task) == dict.fromkeys(names, "completed")
    assert [attempt["phase"] for attempt in world.show(task)["attempts"]] == names
    assert [name for _, name in world.commits(task)] == [f"{name} - completed" for name in names]
    assert (SPEC in prompt_of(world, "implement")) == ("spec" in names)
    assert (RESEARCH in prompt_of(world, "implement")) == ("research" in names)
    assert not any("{{" in text for text in world.received_prompts())
    assert world.read(task) == RIGHT


def test_a_large_task_commits_each_iteration(world: WorkflowWorld) -> None:
    """The Full strategy: a checkpoint between iterations in one session, then the phase's own commit."""
    world.environ["OSTLER_PHASES__PLANS__LARGE"] = '["implement"]'
    turns = [{"files": {"calc.py": WORSE}, "text": "More is to be done."}, {"files": {"calc.py": RIGHT}}]
    world.behave(plan=turns, edits={})
    task = world.new("Mend the sum", "--weight", "large")
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["phases"][0]["iterations"]) == ("completed", 2)
    (first, subject), (second, last) = world.commits(task)
    assert (subject, last) == ("implement - iteration 1", "implement - completed")
    assert (world.git("show", f"{first}:calc.py"), world.git("show", f"{second}:calc.py")) == (WORSE, RIGHT)
    made = [event["type"] for event in world.events(task)]
    assert (made.count("checkpoint_made"), made.count("phase_completed")) == (2, 1)


@pytest.mark.full
def test_a_rewind_puts_the_branch_back_and_keeps_what_was_there(world: WorkflowWorld) -> None:
    """The branch begins again after spec; the earlier commits are kept under a ref of Ostler."""
    task = world.new("Mend the sum", "--weight", "large")
    world.ostler("run", task)
    before = world.commits(task)
    world.ostler("rewind", task, "--to", "implement")
    world.ostler("run", task)
    after = world.commits(task)
    assert [name for _, name in after] == [name for _, name in before]
    assert after[0] == before[0] and after[1] != before[1]
    refs = world.git("for-each-ref", "--format=%(objectname)", f"refs/ostler/rewound/{task}").split()
    assert refs == [before[-1][0]]
    assert world.show(task)["status"] == "completed" and world.read(task) == RIGHT


def test_a_gate_that_always_rejects_blocks(world: WorkflowWorld) -> None:
    """Two retries, then GATE_REJECTED, exit 4; no run continues it before a person decides."""
    world.behave(**NEVER_MENDS, plan=[{"script": f"echo 'n = {n}' >> calc.py"} for n in range(9)])
    (world.root / "ostler.toml").write_text("[gates.commands]\ntest = 'cat calc.py; false'\n")
    task = world.new()
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("blocked", "GATE_REJECTED")
    assert [attempt["phase"] for attempt in shown["attempts"]] == ["implement", "test"] * 3
    assert shown["phases"][1]["gate"]["verdict"] == "fail"
    files_text = world.root / ".ostler" / "tasks" / task
    assert sorted(path.name for path in files_text.glob("retry-context-*")) == [
        "retry-context-test-1.md",
        "retry-context-test-2.md",
    ]
    for again in ((task,), ("--all",)):
        world.ostler("run", *again, code=4 if again == (task,) else 0)
    assert len(world.started()) == 6
    assert "completed" not in phases(world, task)["test"]


def test_feedback_on_a_rejection_reaches_the_agent(world: WorkflowWorld) -> None:
    """One more try with the gate's last output and the person's message; then it passes."""
    world.environ["OSTLER_PHASES__MAX_PHASE_RETRIES"] = "0"
    world.behave(edits={}, **NEVER_MENDS)
    task = world.new()
    world.ostler("run", task, code=4)
    assert world.show(task)["code"] == "GATE_REJECTED"
    world.behave(edits={}, when=[{"contains": "Add, do not multiply.", "files": {"calc.py": RIGHT}}])
    world.ostler("resume", task, "-m", "Add, do not multiply.")
    world.ostler("run", task)
    third = world.received_prompts()[2]
    assert "12 != 7" in third and "Add, do not multiply." in third
    assert (world.show(task)["status"], world.read(task)) == ("completed", RIGHT)


def test_a_gate_that_could_not_run_is_asked_again(world: WorkflowWorld) -> None:
    """GATE_UNRUNNABLE needs no agent: after the machine is repaired, resume runs only the gate."""
    tool = world.root.parent / "tool"
    (world.root / "ostler.toml").write_text(f"[gates.commands]\ntest = '{tool}'\n")
    task = world.new()
    world.ostler("run", task, code=4)
    assert world.show(task)["code"] == "GATE_UNRUNNABLE"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    world.ostler("resume", task)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert len(world.started()) == 2


@pytest.mark.full
def test_the_same_failure_three_times_is_stuck(world: WorkflowWorld) -> None:
    """C102: retries are left, but nothing changes; it stops, exit 4, with this reason."""
    world.environ["OSTLER_PHASES__MAX_PHASE_RETRIES"] = "5"
    world.behave(edits={}, **NEVER_MENDS)
    task = world.new()
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"], len(shown["attempts"])) == ("blocked", "STUCK", 6)
    assert "3 times" in shown["message"]


def test_a_tester_that_blocks_sends_the_work_back(world: WorkflowWorld) -> None:
    """Its text is in the prompt of the next call, and counts as one of the retries."""
    finds = {
        "contains": "This phase: test",
        "files": {},
        "text": "<phase_blocked>add(0, 0) is 1</phase_blocked>",
    }
    passes = {"contains": "add(0, 0) is 1", "files": {"calc.py": RIGHT}}
    world.behave(edits={}, plan=[{"files": {"calc.py": WORSE}}, finds, passes, {}])
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert [attempt["phase"] for attempt in shown["attempts"]] == ["implement", "test", "implement", "test"]
    again, checked = world.received_prompts()[2:]
    assert "add(0, 0) is 1" in again and "the work is back in implement" in again
    assert "implement has repeated its work since. The reason: add(0, 0) is 1" in checked
    assert (shown["status"], world.read(task)) == ("completed", RIGHT)


@pytest.mark.full
def test_ctrl_c_keeps_the_work_in_a_commit(world: WorkflowWorld) -> None:
    """Exit 130; the agent's work is on the branch as work in progress, and the session continues."""
    world.behave(
        edits={}, plan=[{"fault": "a1_hangs", "files": {"calc.py": WORSE}}, {"files": {"calc.py": RIGHT}}]
    )
    task = world.new()
    run = world.start("run", task)
    wrote = world.root / ".ostler" / "worktrees" / task / "calc.py"
    wait_until(lambda: wrote.exists() and wrote.read_text() == WORSE, 60, "the agent wrote nothing")
    assert end(run, INTERRUPT) == 130
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("pending", "INTERRUPTED")
    ((kept, subject),) = world.commits(task)
    assert subject == "implement - work in progress" and world.git("show", f"{kept}:calc.py") == WORSE
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], world.read(task)) == ("completed", RIGHT)
    assert [attempt["resumed"] for attempt in shown["attempts"]] == [False, True, False]


@pytest.mark.full
def test_ctrl_c_while_a_gate_runs(world: WorkflowWorld) -> None:
    """Nothing of the gate is left; the next run checks it again on the same commit, without an agent."""
    seen = world.root.parent / "seen"
    command = f"test -e {seen} || {{ touch {seen}; sleep 100; }}"
    (world.root / "ostler.toml").write_text(f'[gates.commands]\ntest = "{command}"\n')
    task = world.new()
    run = world.start("run", task)
    wait_until(seen.exists, 60, "the gate was not asked")
    assert end(run, INTERRUPT) == 130
    wait_until(lambda: not world.survivors(), 20, "something of the gate is left")
    assert world.show(task)["status"] == "pending"
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], len(shown["attempts"])) == ("completed", 2)
    assert [name for _, name in world.commits(task)] == ["implement - completed", "test - completed"]


@pytest.mark.full
def test_a_phase_that_breaks_what_a_gate_passed_is_not_the_end(world: WorkflowWorld) -> None:
    """The last phase breaks the work: the gate also checks its commit, and the task is not completed."""
    spoils = {"contains": "This phase: docs", "files": {"calc.py": WORSE}}
    world.behave(
        edits={}, files={"calc.py": RIGHT}, when=[spoils, {"contains": "This phase: test", "files": {}}]
    )
    (world.root / "ostler.toml").write_text(f'[gates.commands]\ntest = "{COMMAND}"\n')
    task = world.new("Mend the sum", "--phases", "implement,test,docs")
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["phases"][1]["gate"]["verdict"]) == ("blocked", "fail")
    asked = [one["sha"] for one in world.events(task) if one.get("gate") == "command"]
    assert asked[1] == world.commits(task)[2][0]  # the commit of docs


@pytest.mark.full
def test_a_task_that_used_all_its_steps_is_paused(world: WorkflowWorld) -> None:
    """C111: `max_steps` counts over phases and retries; `resume` allows the same number again."""
    world.behave(**NEVER_MENDS, plan=[{"script": f"echo 'n = {n}' >> calc.py"} for n in range(9)])
    (world.root / "ostler.toml").write_text(
        "[phases]\nmax_steps = 7\nmax_phase_retries = 9\n[gates.commands]\ntest = 'cat calc.py; false'\n"
    )
    task = world.new()
    world.ostler("run", task, code=5)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("paused", "ITERATION_LIMIT")
    assert "used all 7 steps" in shown["message"]
    before = len(world.started())
    world.ostler("resume", task, "-m", "try again")
    world.ostler("run", task, code=5)
    assert world.show(task)["code"] == "ITERATION_LIMIT"
    assert before < len(world.started()) <= 2 * before


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("", "names no phase"),
        (" , ", "names no phase"),
        ("merge", "name merge"),
        ("a/b", "invalid phase name"),
    ],
)
def test_a_list_of_phases_that_no_task_can_have_is_refused(
    world: WorkflowWorld, names: str, message: str
) -> None:
    """An empty value, invalid names and the name of the gate before publishing."""
    assert message in world.ostler("new", "Greet", "--phases", names, code=2).stderr


def test_a_blocked_check_is_shown_as_a_retry_and_takes_feedback(world: WorkflowWorld) -> None:
    """C105: the events have the reason; when no retry is left, `resume -m` sends the work back once more."""
    broken = {"contains": "This phase: test", "text": "<phase_blocked>add(3, 4) is 8</phase_blocked>"}
    world.behave(when=[*TELLERS, broken], files={})
    world.environ["OSTLER_PHASES__MAX_PHASE_RETRIES"] = "1"
    task = world.new("Add", "--weight", "small")
    world.ostler("run", task, code=4)
    (back,) = [one for one in world.events(task) if one["type"] == "phase_retried"]
    assert (back["phase"], back["to"], back["attempt"]) == ("test", "implement", 1)
    assert (back["code"], back["message"]) == ("AGENT_BLOCKED", "add(3, 4) is 8")
    world.ostler("resume", task, "-m", "Start from zero.")
    world.ostler("run", task, code=4)
    last = [one["phase"] for one in world.show(task)["attempts"]][-2:]
    assert last == ["implement", "test"]
    prompt = world.received_prompts()[-2]
    assert "add(3, 4) is 8" in prompt and "Start from zero." in prompt

"""The exit ends the attempt, the state file has the result: an agent that reports in its state file (C85)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workflow_world import RIGHT, WorkflowWorld
from world import KILL, World, end, wait_until

REPORT = f"{sys.executable} -m ostler report"


def writes(status: str, reason: str = "") -> str:
    """A shell command that writes the agent's state file."""
    more = f'; echo "reason: {reason}" >> "$OSTLER_STATE"' if reason else ""
    return f'sed -i "s/^status:.*/status: {status}/" "$OSTLER_STATE"{more}'


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WorkflowWorld]:
    made = WorkflowWorld(tmp_path, "[phases.plans]\nsmall = ['implement']\n")
    yield made
    made.close()


def behave(world: WorkflowWorld, script: str) -> None:
    """The first call runs the script and prints nothing else; later ones do the work."""
    first = {"script": script, "text": "I have a question.", "files": {}}
    world.behave(plan=[first, {"files": {"calc.py": RIGHT}}], edits={})


def tree(world: WorkflowWorld, task: str) -> list[str]:
    return world.git("ls-tree", "-r", "--name-only", f"ostler/{task}").split()


def test_an_agent_pauses_itself_and_is_answered(world: WorkflowWorld) -> None:
    """Paused, exit 4, with its reason; the answer is sent to the same session, and the work is completed."""
    behave(world, writes("paused", "blue or red"))
    task = world.new()
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"], shown["message"]) == ("paused", None, "blue or red")
    world.ostler("run", "--all")
    assert len(world.started()) == 1, "it was not continued yet"
    world.ostler("resume", task, "-m", "Make it blue.")
    world.ostler("run", task)
    first, second = world.received_prompts()
    assert "Make it blue." not in first and "Make it blue." in second
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert [attempt["resumed"] for attempt in shown["attempts"]] == [False, True]
    assert tree(world, task) == ["README.md", "calc.py", "ostler.toml", "test_calc.py"]


def test_an_agent_asks_for_a_person_to_look(world: WorkflowWorld) -> None:
    """needs_review on the commit of its work, exit 4; approved it is completed, without another call."""
    world.behave(
        script=writes("needs_review", "the second line"), text="Please look.", files={"calc.py": RIGHT}
    )
    task = world.new()
    world.ostler("run", task, code=4)
    shown = world.show(task)
    gate = shown["phases"][0]["gate"]
    assert (shown["status"], gate["verdict"], gate["sha"]) == ("needs_review", "pending", shown["commit"])
    assert world.read(task) == RIGHT
    world.ostler("approve", task)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert len(world.started()) == 1


def test_an_agent_that_asks_for_a_review_gets_the_mistakes(world: WorkflowWorld) -> None:
    """After a rejection the next prompt has the person's message."""
    behave(world, writes("needs_review"))
    task = world.new()
    world.ostler("run", task, code=4)
    world.ostler("reject", task, "-m", "The sum is still wrong.")
    world.ostler("run", task)
    assert "The sum is still wrong." in world.received_prompts()[1]
    assert (world.show(task)["status"], world.read(task)) == ("completed", RIGHT)


def test_an_agent_reports_that_it_is_complete(world: WorkflowWorld) -> None:
    """`ostler report` from inside counts without any mark in its text."""
    behave(world, f"{REPORT} --status complete; echo done > done.txt")
    task = world.new()
    world.ostler("run", task)
    assert len(world.started()) == 1
    assert world.show(task)["status"] == "completed"


def test_what_an_agent_reports_counts_before_its_state_file(world: WorkflowWorld) -> None:
    """The first evidence with a result decides (contract.md, "Evidence")."""
    behave(world, f"{writes('completed')}; {REPORT} --status blocked --reason 'no key'")
    task = world.new()
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"], shown["message"]) == ("blocked", "AGENT_BLOCKED", "no key")


@pytest.mark.full
@pytest.mark.parametrize(
    ("script", "warning"),
    [
        ('rm -r "$(dirname "$OSTLER_STATE")"', ""),
        (writes("finished-ish"), "a status that an agent cannot report"),
        ('head -c 300000 /dev/zero > "$OSTLER_STATE"', "cannot be read"),
        ('rm "$OSTLER_STATE"; ln -s /etc/passwd "$OSTLER_STATE"', ""),
        ('rm "$OSTLER_STATE"; mkfifo "$OSTLER_STATE"', ""),
    ],
)
@pytest.mark.sampled(2)
def test_a_state_file_without_a_result(world: WorkflowWorld, script: str, warning: str) -> None:
    """The agent is called again, the branch has nothing of it, and a warning is kept where needed."""
    behave(world, script)
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], len(shown["attempts"])) == ("completed", 2)
    assert warning in " ".join(shown["warnings"])
    assert tree(world, task) == ["README.md", "calc.py", "ostler.toml", "test_calc.py"]


def test_a_forced_state_file_is_not_committed(world: WorkflowWorld) -> None:
    """Also if the agent adds it to the index itself."""
    behave(world, 'git add -f "$OSTLER_STATE" .ostler')
    task = world.new()
    world.ostler("run", task)
    assert tree(world, task) == ["README.md", "calc.py", "ostler.toml", "test_calc.py"]


def read_states(world: World, task: str) -> list[str]:
    """Return the lines about the session in both state files."""
    shown = world.root / ".ostler"
    files = (shown / "tasks" / task / "state.yaml", shown / "worktrees" / task / ".ostler" / "state.yaml")
    return [line for file in files for line in file.read_text().splitlines() if line.startswith("session_id")]


@pytest.mark.full
def test_the_session_is_shown_from_the_start_to_the_end(world: WorkflowWorld) -> None:
    """A13: in `show` and in both state files while the first call runs; null when the task has ended."""
    world.behave(plan=["a1_hangs", "ok"])
    task = world.new()
    run = world.start("run", task)
    wait_until(world.started, 60, "the agent did not start")
    (session,) = [one["session"] for one in world.started()]
    wait_until(lambda: world.show(task)["session_id"] == session, 20, "show has no session")
    assert read_states(world, task) == [f'session_id: "{session}"'] * 2
    end(run, KILL)
    wait_until(lambda: not world.survivors(), 20, "the agent outlived the run")
    assert world.show(task)["session_id"] == session
    world.ostler("run", task)
    assert world.show(task)["session_id"] is None
    state = (world.root / ".ostler" / "tasks" / task / "state.yaml").read_text()
    assert "session_id: null\n" in state and "iteration: 1\n" in state

"""What an agent can do with Ostler from inside its task: report, read, and propose tasks (A1)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import ostler
from world import World

# An agent does not inherit PYTHONPATH.
PYTHON = f"env PYTHONPATH={Path(ostler.__file__).parents[1]} {sys.executable}"
OSTLER = f"timeout 60 {PYTHON} -m ostler"
REFUSED = (
    "run --all",
    "run -p Evil",
    "worker",
    "serve --port 0",
    "cleanup",
    "worktree prune",
    "import evil.md",
    "pipeline run evil",
    "pipeline resume evil",
    "config edit",
    "agent spawn -p Evil",
    "agent resume x -p Evil",
    "init",
    "demo",
    "approve TASK",
    "reject TASK -m no",
    "cancel TASK",
    "retry TASK",
    "resume TASK",
    "pause TASK",
    "skip TASK implement --reason no",
    "rewind TASK --to implement",
)
ALLOWED = (
    "status",
    "show TASK",
    "log TASK",
    "events",
    "config show",
    "config validate",
    "worktree list",
    "cost",
)


def run_inside(
    world: World, *commands: str, code: int | None = 0, **environ: str
) -> tuple[str, list[dict[str, Any]]]:
    """Run a task whose agent runs these commands; return its id, and the exit code and output of each."""
    results = world.root.parent / "results"
    lines = [
        f"out=$({OSTLER} {one.replace('TASK', '$OSTLER_TASK')} 2>&1 < /dev/null); "
        f'printf "%s\\n%s\\0" "$?" "$out" >> {results}'
        for one in commands
    ]
    world.behave(script="\n".join(lines))
    task = world.new("First")
    world.ostler("run", task, code=code, **environ)
    parts = results.read_text().split("\0")[:-1]
    results.unlink()
    pairs = (part.split("\n", 1) for part in parts)
    return task, [{"code": int(status), "output": output} for status, output in pairs]


def other_than(world: World, task: str) -> Any:
    (found,) = (one for one in world.json("status")["tasks"] if one["id"] != task)
    return world.show(found["id"])


@pytest.mark.full
def test_commands_that_change_something_are_refused(world: World) -> None:
    """Each is refused with the same sentence, and none has an effect."""
    task, results = run_inside(world, *REFUSED)
    for command, result in zip(REFUSED, results, strict=True):
        assert result["code"] == 2, (command, result)
        assert f"this process runs inside task {task}: only a person can" in result["output"], command
    assert [one["id"] for one in world.json("status")["tasks"]] == [task]


@pytest.mark.full
def test_commands_that_read_are_allowed(world: World) -> None:
    """An agent can look at its task."""
    _, results = run_inside(world, *ALLOWED)
    assert [(command, result["code"]) for command, result in zip(ALLOWED, results, strict=True)] == [
        (command, 0) for command in ALLOWED
    ]


def test_a_new_task_is_a_proposal(world: World) -> None:
    """It waits for a person, names the task that proposed it, and no run starts it."""
    task, (result,) = run_inside(world, "new 'Fix the other bug'")
    assert result["code"] == 0 and "approve" in result["output"]
    shown = other_than(world, task)
    assert (shown["status"], shown["proposed_by"], shown["held"]) == ("needs_review", task, True)
    card = world.ostler("show", shown["id"]).stdout
    assert f"by the agent of {task}" in card and f"ostler approve {shown['id']}" in card
    world.ostler("run", "--all", code=None)
    assert other_than(world, task)["attempts"] == []
    for action in (
        ("skip", shown["id"], "implement", "--reason", "x"),
        ("rewind", shown["id"], "--to", "implement"),
    ):
        world.ostler(*action, code=2)
    world.ostler("approve", shown["id"])
    assert other_than(world, task)["status"] == "pending"
    world.behave()
    world.ostler("run", "--all")
    assert other_than(world, task)["status"] == "completed"


@pytest.mark.full
def test_a_rejected_proposal_is_cancelled(world: World) -> None:
    """`reject` ends it at once, with the reason; `retry` is a person's decision to start it after all."""
    task, _ = run_inside(world, "new 'Fix the other bug'")
    proposal = other_than(world, task)["id"]
    world.ostler("reject", proposal, "-m", "not needed")
    shown = world.show(proposal)
    assert (shown["status"], shown["held"]) == ("cancelled", False)
    assert "not needed" in shown["message"]
    world.ostler("retry", proposal)
    assert world.show(proposal)["status"] == "pending"


def test_a_setting_accepts_proposals_but_not_a_variable_of_the_agent(world: World) -> None:
    """The agent's environment cannot change the rule."""
    task, _ = run_inside(world, "status; OSTLER_RUN__ACCEPT_PROPOSALS=true " + f"{OSTLER} new Second")
    assert other_than(world, task)["status"] == "needs_review"


@pytest.mark.full
def test_accepted_proposals_run_and_cannot_propose_more(world: World) -> None:
    """With run.accept_proposals they run; one that a proposal proposes is refused by the depth limit."""
    (world.root / "ostler.toml").write_text("[run]\naccept_proposals = true\n")
    results = world.root.parent / "all"
    world.behave(script=f'{OSTLER} new "Next of $OSTLER_TASK" >> {results} 2>&1')
    world.new("First")
    world.ostler("run", "--all")
    tasks = world.json("status")["tasks"]
    assert sorted(one["status"] for one in tasks) == ["completed", "completed"]
    assert "run.max_proposal_depth is 1" in results.read_text()


@pytest.mark.full
def test_the_number_of_proposals_is_limited(world: World) -> None:
    """The third of two is refused."""
    (world.root / "ostler.toml").write_text("[run]\nmax_proposals = 2\n")
    _, results = run_inside(world, "new One", "new Two", "new Three")
    assert [one["code"] for one in results] == [0, 0, 2]
    assert "run.max_proposals" in results[2]["output"]


@pytest.mark.parametrize(
    "statement",
    [
        "await ostler.run_all()",
        "await ostler.start_pipeline('evil')",
        "await ostler.act(task, 'approve')",
        "await ostler.act(task, 'cancel')",
        "ostler.cancel(task)",
    ],
)
@pytest.mark.sampled(2)
def test_the_library_refuses_the_same(world: World, statement: str) -> None:
    """`Ostler.open` inside a task's process: only `add`, which proposes, and reading."""
    (world.root / ".agents/pipelines").mkdir(parents=True)
    (world.root / ".agents/pipelines/evil.yaml").write_text("steps: [research]\n")
    (world.root / ".agents/skills/research").mkdir(parents=True)
    (world.root / ".agents/skills/research/SKILL.md").write_text("---\nname: research\n---\nLook.\n")
    program = world.root.parent / "program.py"
    program.write_text(
        "import asyncio, json, os\nfrom ostler import Ostler, Task\n"
        "async def main():\n"
        "    task = os.environ['OSTLER_TASK']\n"
        "    async with Ostler.open('.') as ostler:\n"
        "        added = await ostler.add(Task('Second'))\n"
        f"        try:\n            {statement}\n            said = 'done'\n"
        "        except Exception as error:\n            said = str(error)\n"
        f"    open({str(program)!r} + '.json', 'w').write(json.dumps([said]))\n"
        "asyncio.run(main())\n"
    )
    world.behave(script=f"{PYTHON} {program} > {program}.log 2>&1")
    task = world.new("First")
    world.ostler("run", task)
    log = program.with_name("program.py.log").read_text()
    printed = log or json.loads(program.with_name("program.py.json").read_text())[0]
    assert f"runs inside task {task}: only a person can" in printed
    assert other_than(world, task)["proposed_by"] == task

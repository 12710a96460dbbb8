"""Gates that cannot fail, weakened tests, quality checks and timeouts, as a person uses them."""

from __future__ import annotations

import sys
import time

import pytest

from isolation import FakeIsolation
from world import World

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
TESTS = {"test_a.py": "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n"}


@pytest.fixture
def world(world: World) -> World:
    """Other tests have gates that cannot fail, so their worlds switch the control off."""
    world.environ["OSTLER_GATES__CONTROL"] = "true"
    return world


def configure(world: World, text: str) -> None:
    (world.root / "ostler.toml").write_text(text)


def use_agent(world: World, script: str, settings: str = "") -> None:
    """Use a program as the agent; it runs this shell script in the worktree."""
    agent = world.root.parent / "agent.sh"
    agent.write_text(f"#!/bin/sh\ncat >/dev/null\n{script}\necho done\n")
    agent.chmod(0o755)
    configure(
        world,
        f'run.executor = "mine"\nexecutors.mine = {{type = "command", command = "{agent}"}}\n{settings}',
    )


def control_of(world: World, task: str) -> str:
    """Return the control in the record of the task's first gate."""
    decided = next(one for one in world.events(task) if one["type"] == "gate_decided")
    return decided["check"]["control"]


@pytest.mark.full
def test_a_gate_that_cannot_fail_asks_a_person_until_it_is_accepted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task waits with GATE_INERT; `gates accept` is enough for the next task."""
    FakeIsolation(monkeypatch)
    configure(world, '[gates.commands]\nimplement = "true"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["warnings"]) == ("needs_review", ["GATE_INERT"])
    assert "ostler gates accept implement" in shown["message"]
    assert control_of(world, task) == "inert"
    listed = world.ostler("gates")
    assert "inert" in listed.stdout and "ostler gates accept implement" in listed.stderr
    accepted = world.ostler("gates", "accept", "implement")
    assert "`true`" in accepted.stdout and f"ostler approve {task}" in accepted.stderr
    (gate,) = world.json("gates")["gates"]
    assert (gate["control"], gate["cannot_fail"], bool(gate["accepted_by"])) == ("inert", True, True)
    world.ostler("approve", task)
    world.ostler("run", task)
    second = world.new("Another")
    world.ostler("run", second)
    assert control_of(world, second) == f"inert, accepted by {gate['accepted_by']}"
    assert world.show(second)["warnings"] == []


def test_accepting_is_refused_inside_a_task_and_for_unknown_gates(world: World) -> None:
    """Only a person accepts, and only what exists."""
    configure(world, '[gates.commands]\nimplement = "true"\n')
    task = world.new()
    marks = {"OSTLER_TASK": task, "OSTLER_ATTEMPT": f"x:{task}:1"}
    done = world.ostler("gates", "accept", "implement", code=2, **marks)
    assert f"inside task {task}" in done.stderr
    assert "implement" in world.ostler("gates", "accept", "implemnt", code=2).stderr
    assert world.json("gates")["gates"][0]["accepted_by"] is None


@pytest.mark.full
def test_weakened_tests_wait_for_a_person(world: World) -> None:
    """The message names the missing test; a person approves it."""
    weaken_tests(world)
    task = world.new()
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert shown["status"] == "needs_review" and "CHECKS_WEAKENED" in shown["warnings"]
    assert "gone: test_two (list: gates/implement-1.weakened.txt)" in shown["message"]
    assert "gone: test_a::test_two" in world.ostler("show", task).stdout
    assert shown["phases"][0]["gate"]["check"]["weakened"] == ["gone: test_a::test_two"]
    world.ostler("approve", task)
    world.ostler("run", task)
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert shown["phases"][0]["gate"]["verdict"] == "pass" and shown["phases"][0]["gate"]["by"]


@pytest.mark.full
def test_a_task_can_allow_weakened_tests(world: World) -> None:
    """A task that allows it, by its option or its file, is completed with the warning."""
    weaken_tests(world)
    allowed = world.new("Allowed", "--allow-test-changes")
    world.ostler("run", allowed)
    assert world.show(allowed)["status"] == "completed"
    assert "CHECKS_WEAKENED" in world.show(allowed)["warnings"]
    text = world.ostler(
        "new", "-f", "-", stdin="---\nallow_test_changes: true\n---\n# From a file\n"
    ).stdout.strip()
    world.ostler("run", text)
    assert world.show(text)["status"] == "completed"


def weaken_tests(world: World) -> None:
    """Commit two tests, and use an agent that deletes one of them."""
    for name, text in TESTS.items():
        (world.root / name).write_text(text)
    world.git("add", "-A")
    world.git("commit", "-qm", "tests")
    use_agent(
        world,
        "printf 'def test_one():\\n    pass\\n' > test_a.py",
        f"[gates.commands]\nimplement = {PYTEST!r}\n",
    )


@pytest.mark.parametrize(
    ("on_failure", "status", "warnings"),
    [("block", "blocked", 0), ("warn", "completed", 1), ("skip", "completed", 0)],
)
def test_quality_checks_block_warn_or_are_skipped(
    world: World, on_failure: str, status: str, warnings: int
) -> None:
    """A check runs on the commit after its phase, also where the phase has no gate."""
    use_agent(
        world,
        "echo x > new.txt",
        f'[phases]\nmax_phase_retries = 0\n[gates.checks.lint]\ncommand = "echo bad style; exit 3"\n'
        f'on_failure = "{on_failure}"\n',
    )
    task = world.new()
    world.ostler("run", task, code=4 if status == "blocked" else 0)
    shown = world.show(task)
    found = [one for one in shown["warnings"] if one.startswith("check lint:")]
    assert (shown["status"], len(found)) == (status, warnings)
    if status == "blocked":
        assert shown["code"] == "GATE_REJECTED" and "check lint" in shown["message"]


def test_a_check_that_blocks_comes_before_the_person(world: World) -> None:
    """No person is asked about work that a check rejects."""
    settings = '[phases]\nmax_phase_retries = 0\n[gates.phases]\nimplement = "human"\n'
    use_agent(world, "echo x > new.txt", settings + '[gates.checks.lint]\ncommand = "exit 3"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    assert world.show(task)["code"] == "GATE_REJECTED"
    use_agent(world, "echo x > new.txt", settings + '[gates.checks.lint]\ncommand = "true"\n')
    second = world.new("Second")
    world.ostler("run", second, code=4)
    assert world.show(second)["status"] == "needs_review"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("action", "status"), [("approve", "completed"), ("block", "blocked"), ("reject", "needs_review")]
)
def test_a_human_gate_can_have_a_timeout(world: World, action: str, status: str) -> None:
    """The next run decides as the settings name it; without a timeout the task waits."""
    gates = '[gates.phases]\nimplement = "human"\n'
    configure(world, gates)
    task = world.new()
    world.ostler("run", task, code=4)
    world.ostler("run", "--all", code=None)
    assert world.show(task)["status"] == "needs_review"
    configure(world, f'[gates]\nhuman_timeout_seconds = 0.2\nhuman_timeout_action = "{action}"\n{gates}')
    world.ostler("config", "accept")
    time.sleep(0.3)
    done = world.ostler("run", "--all", code=None)
    assert "nobody decided within 0.2 s" in done.stderr
    assert world.show(task)["status"] == status
    calls = [one for one in world.events(task) if one["type"] == "attempt_started"]
    assert len(calls) == (2 if action == "reject" else 1)


def test_a_gate_can_have_a_timeout_of_its_own(world: World) -> None:
    """[gates.options.NAME] goes before [gates]: this gate cancels its task, others wait for a day."""
    gates = '[gates.phases]\nimplement = "human"\n[gates.options.implement]\n'
    own = 'human_timeout_seconds = 0.01\nhuman_timeout_action = "cancel"\n'
    configure(world, f"[gates]\nhuman_timeout_seconds = 86400\n{gates}{own}")
    task = world.new()
    world.ostler("run", task, code=4)
    done = world.ostler("run", "--all", code=None)
    assert f"{task} is cancelled: nobody decided within 0.01 s" in done.stderr
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("cancelled", "ABORTED")
    assert "gates.options.implement.human_timeout_seconds" in shown["message"]
    decided = [one for one in world.events(task) if one["type"] == "decision_recorded"]
    assert [(one["verb"], one["by"]) for one in decided] == [("cancel", "a timeout")]


@pytest.mark.one_machine("in a cluster the workers remind at any time")
def test_a_timeout_can_remind(world: World) -> None:
    """The task waits on; each period has one reminder, which is a notification."""
    told = world.root.parent / "told.jsonl"
    policy = 'human_timeout_seconds = 0.2\nhuman_timeout_action = "remind"\n'
    gates = f'[gates]\n{policy}[gates.phases]\nimplement = "human"\n'
    command = f'["sh", "-c", "cat >> {told}; echo >> {told}"]'
    notify = f'[[notify]]\ncommand = {command}\non = ["needs_you"]\n'
    configure(world, gates + notify)
    task = world.new()
    world.ostler("run", task, code=4)
    time.sleep(0.3)
    done = world.ostler("run", "--all", code=None)
    assert f"{task} is waiting for you: nobody decided within 0.2 s" in done.stderr
    reminders = [one for one in world.events(task) if one["type"] == "review_reminded"]
    assert len(reminders) == 1 and world.show(task)["status"] == "needs_review"
    assert "nobody decided" in told.read_text()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("[gates.options.implment]\nhuman_timeout_seconds = 5\n", 'did you mean "implement"?'),
        ('[gates.options.implement]\nhuman_timeout_action = "approve"\n', "human_timeout_action"),
        ("[gates.options.implement]\nhuman_timeout_seconds = 0\n", "human_timeout_seconds"),
    ],
)
def test_a_wrong_timeout_is_refused(settings: str, message: str, world: World) -> None:
    """A name that no phase has, an approval for one gate, and no time at all."""
    configure(world, settings)
    refused = world.ostler("config", "validate", code=2).stderr
    assert "ostler.toml:" in refused and message in refused


def test_a_required_review_has_no_timeout(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate that cannot fail is never accepted by waiting."""
    FakeIsolation(monkeypatch)
    configure(
        world,
        '[gates]\nhuman_timeout_seconds = 0.1\nhuman_timeout_action = "approve"\n'
        '[gates.commands]\nimplement = "true"\n',
    )
    task = world.new()
    world.ostler("run", task, code=4)
    time.sleep(0.2)
    world.ostler("run", "--all", code=None)
    assert world.show(task)["status"] == "needs_review"

"""Gates, publishing and budgets follow ostler.toml: stricter at once, looser after `ostler config accept`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from world import World

MERGE = '[git]\ntarget = "release"\non_complete = "merge"\n'


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.git("branch", "release")
    yield made
    made.close()


def write(world: World, text: str) -> None:
    (world.root / "ostler.toml").write_text(text)


def gate(world: World, task: str, name: str = "implement") -> dict[str, object]:
    shown = world.show(task)
    found = {one["id"]: one["gate"] for one in shown["phases"]}
    return {**found, **{one["name"]: one["gate"] for one in shown["gates"]}}[name]


def test_a_gate_of_a_missing_phase_checks_the_final_commit(world: World) -> None:
    """T2: a trivial task has no test phase, and the command for it runs before the task may complete."""
    write(world, '[gates.commands]\ntest = "exit 1"\n')
    world.ostler("run", "-p", "Add a greeting", code=4)
    (task,) = world.json("status")["tasks"]
    assert (task["status"], task["code"]) == ("blocked", "GATE_REJECTED")
    assert gate(world, task["id"], "test")["verdict"] == "fail"
    assert "final gate" in world.ostler("show", task["id"]).stdout


def test_a_gate_of_a_missing_phase_passes_once(world: World) -> None:
    write(world, '[gates.commands]\ntest = "test -f greeting.txt || ls"\n')
    task = world.new()
    world.ostler("run", task)
    found, shown = gate(world, task, "test"), world.show(task)
    assert (found["verdict"], found["sha"], shown["status"]) == ("pass", shown["commit"], "completed")
    decided = [one for one in world.events(task) if one["type"] == "gate_decided" and one["phase"] == "test"]
    assert len(decided) == 1


def test_a_gate_that_was_added_later_is_checked(world: World) -> None:
    """T3: before its phase, and after its phase passed."""
    task = world.new("Add a greeting", "--phases", "implement,review")
    write(world, '[gates.phases]\nreview = "human"\n')
    world.ostler("run", task, code=4)
    write(world, '[gates.phases]\nreview = "human"\n[gates.commands]\nimplement = "exit 1"\n')
    world.ostler("approve", task)
    world.ostler("run", task, code=4)
    assert gate(world, task)["verdict"] == "fail"


def test_a_gate_before_merging_that_was_added_later_is_asked(world: World) -> None:
    """T3: merge = "human" applies to an existing task."""
    write(world, MERGE)
    task, before = world.new(), world.git("rev-parse", "release")
    write(world, MERGE + '[gates.phases]\nmerge = "human"\n')
    world.ostler("run", task, code=4)
    assert world.git("rev-parse", "release") == before
    world.ostler("approve", task)
    world.ostler("run", task)
    assert world.git("rev-parse", "release").strip() == world.show(task)["commit"]
    assert gate(world, task, "merge")["verdict"] == "pass"


def test_publishing_is_switched_off_at_once_and_on_after_acceptance(world: World) -> None:
    """T3: on_complete is read when the work is published."""
    before = world.git("rev-parse", "release")
    write(world, MERGE)
    off = world.new("Switched off")
    write(world, "")
    world.ostler("run", off)
    on = world.new("Switched on")
    write(world, MERGE)
    assert 'this task uses "none"' in world.ostler("show", on).stdout
    assert "git.on_complete" in world.ostler("config", "accept").stdout
    assert world.git("rev-parse", "release") == before
    world.ostler("run", on)
    assert world.git("rev-parse", "release").strip() == world.show(on)["commit"]


def test_a_changed_command_applies_after_acceptance(world: World) -> None:
    """T3: the command that could not run is corrected, accepted and used."""
    write(world, '[gates.commands]\nimplement = "no-such-program"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    assert world.show(task)["code"] == "GATE_UNRUNNABLE"
    write(world, '[gates.commands]\nimplement = "true"\n')
    assert "Next: ostler config accept" in world.ostler("resume", task).stderr
    assert f"{task} does not use the changed settings" in world.ostler("run", task, code=4).stderr
    pending = world.show(task)["pending_settings"]
    assert pending == [
        "ostler.toml has gate implement = command `true`; this task uses command `no-such-program`"
    ]
    accepted = world.json("config", "accept")
    assert [one["id"] for one in accepted["tasks"]] == [task]
    assert world.json("config", "accept")["tasks"] == []
    world.ostler("resume", task)
    world.ostler("run", task)
    assert (gate(world, task)["verdict"], gate(world, task)["check"]["command"]) == ("pass", "true")


@pytest.mark.parametrize("accepted", [True, False])
def test_a_gate_that_was_removed_while_it_waits_is_skipped(world: World, accepted: bool) -> None:
    """It is recorded as removed; also one that was added after the task and removed again."""
    human = '[gates.phases]\nimplement = "human"\n'
    write(world, human if accepted else "")
    task = world.new()
    write(world, human)
    world.ostler("run", task, code=4)
    write(world, "")
    world.ostler("config", "accept")
    world.ostler("run", task)
    found = gate(world, task)
    assert (found["verdict"], found["reason"]) == ("skipped", "removed from the settings")


def test_an_overruled_gate_is_not_reported_as_passed(world: World) -> None:
    """T4: the verdict names the person, the reason and what the gate decided; auto gates are not checked."""
    write(world, '[gates.commands]\nimplement = "exit 1"\n')
    task = world.new("Add a greeting", "--phases", "implement,review")
    world.ostler("run", task, code=4)
    world.ostler("approve", task, "-m", "known flake")
    world.ostler("run", task)
    found = gate(world, task)
    assert (found["verdict"], found["original"], found["reason"]) == ("overruled", "fail", "known flake")
    assert found["by"] and f"overruled by {found['by']} (was: fail)" in world.ostler("show", task).stdout
    assert gate(world, task, "review")["verdict"] == "not_checked"


@pytest.mark.parametrize("off", ['[gates.weights]\nsmall = "auto"\n', '[gates.phases]\nimplement = "auto"\n'])
@pytest.mark.sampled(1)
def test_a_command_gate_is_switched_off_by_its_own_name_only(world: World, off: str) -> None:
    """T28: auto for a weight or a phase leaves the command; skip is shown."""
    write(world, f'[gates.commands]\nimplement = "exit 1"\n{off}')
    world.ostler("run", world.new(), code=4)
    write(world, '[gates.commands]\nimplement = "exit 1"\n[gates.phases]\nimplement = "skip"\n')
    task = world.new()
    world.ostler("run", task)
    assert gate(world, task)["verdict"] == "skipped"
    assert "switched off in ostler.toml" in world.ostler("show", task).stdout


def test_a_command_and_a_person_both_decide(world: World) -> None:
    """A human gate does not replace the command of its phase; the person is asked after it passed."""
    write(world, '[gates.commands]\nimplement = "true"\n[gates.phases]\nimplement = "human"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    assert "`true` succeeded" in world.show(task)["message"]
    world.ostler("approve", task)
    world.ostler("run", task)
    assert (gate(world, task)["verdict"], gate(world, task)["check"]["command"]) == ("pass", "true")


def test_rewind_to_a_later_phase_is_refused(world: World) -> None:
    """T10: the result of a later phase would be older than the work."""
    task = world.new("Add a greeting", "--weight", "large")
    done = world.ostler("rewind", task, "--to", "validate", code=2)
    assert "ostler skip" in done.stderr


@pytest.mark.parametrize(
    "path",
    ["ostler.toml", ".agents/roles/a.md", ".claude/settings.json", ".mcp.json", ".github/workflows/ci.yml"],
)
@pytest.mark.sampled(2)
def test_changed_settings_wait_for_a_person_before_they_are_merged(world: World, path: str) -> None:
    """The reason lists the file; the agent's ostler.toml is not the project's."""
    world.behave(edits={}, script=f"mkdir -p $(dirname {path}); echo x > {path}")
    write(world, MERGE)
    task, before = world.new(), world.git("rev-parse", "release")
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert shown["status"] == "needs_review" and f"it changes {path}" in shown["message"]
    assert world.git("rev-parse", "release") == before
    world.ostler("approve", task)
    world.ostler("run", task)
    assert world.git("rev-parse", "release").strip() == world.show(task)["commit"]


def test_settings_are_not_accepted_inside_a_task(world: World) -> None:
    """The agent edits ostler.toml of the checkout and tries to accept it: the gate still checks."""
    toml = world.root / "ostler.toml"
    program = f"PYTHONPATH={world.environ['PYTHONPATH']} {sys.executable} -m ostler"
    world.behave(script=f": > {toml}; cd {world.root}; {program} config accept > accepted.txt 2>&1")
    write(world, '[gates.commands]\nimplement = "exit 1"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    assert "inside task" in (world.root / "accepted.txt").read_text()
    assert gate(world, task)["verdict"] == "fail"


def test_a_run_reports_changed_and_invalid_settings(world: World) -> None:
    """C140: one line per change; an invalid file keeps the values that were read before."""
    toml = world.root / "ostler.toml"
    change = (
        f"printf '[gates.commands]\\nimplement = \"exit 1\"\\n' > {toml}; sleep 1.5; echo nonsense >> {toml}"
    )
    world.behave(script=f"{change}; sleep 1.5")
    write(world, "[phases]\nmax_phase_retries = 0\n")
    task = world.new()
    printed = world.ostler("run", task, code=4).stderr + world.read_worker()
    assert printed.count("the settings changed: phases.max_phase_retries, gates.commands.implement") == 1
    assert printed.count("the settings are invalid, and the previous ones stay in use: ostler.toml:3") == 1
    write(world, "")
    assert gate(world, task)["verdict"] == "fail"


def test_the_number_of_jobs_is_read_again_between_tasks(world: World) -> None:
    """C140: a run that began with one job starts two tasks at once after the file changed."""
    started, both = world.root.parent / "started", world.root.parent / "both"
    started.mkdir()
    count = f"$(ls {started} | wc -l)"
    meet = f"touch {started}/$$; i=0; while [ {count} -lt 2 ] && [ $i -lt 200 ]"
    meet += "; do sleep 0.05; i=$((i+1)); done"
    meet += f"; [ {count} -lt 2 ] || echo yes >> {both}"
    change = f"printf '[run]\\njobs = 2\\n' > {world.root}/ostler.toml"
    world.behave(plan=[{"script": change}, {"script": meet}, {"script": meet}])
    write(world, "[run]\njobs = 1\n[host]\nstart_stagger_seconds = 0.0\n")
    for title in ("First", "Second", "Third"):
        world.new(title, "--weight", "trivial")
    printed = world.ostler("run", "--all").stderr + world.read_worker()
    assert "the settings changed: run.jobs" in printed
    assert both.read_text() == "yes\nyes\n"


def test_a_skipped_phase_shows_that_its_gate_failed(world: World) -> None:
    """T4: the record has the person and what the gate decided."""
    write(world, '[phases]\nmax_phase_retries = 0\n[gates.commands]\nimplement = "exit 1"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    world.ostler("skip", task, "--phase", "implement", "--reason", "not needed")
    world.ostler("run", task)
    found = gate(world, task)
    assert (found["verdict"], found["original"], found["reason"]) == ("skipped", "fail", "not needed")
    assert found["by"] and "(was: fail)" in world.ostler("show", task).stdout

"""Tasks are put away: archived, removed and purged, with kill -9 at every step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ostler.errors import UsageError
from ostler.files.lock import try_lock
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from world import World, wait_until

STEPS = ("recorded", "reviews", "worktree", "refs", "branch", "directory")


def refs(world: World, task: str) -> list[str]:
    """Return the refs of a task below refs/ostler."""
    listed = world.git("for-each-ref", "--format=%(refname)", "refs/ostler").split()
    return [ref for ref in listed if task in ref.split("/")]


def branches(world: World) -> list[str]:
    return world.git("for-each-ref", "--format=%(refname:short)", "refs/heads/ostler").split()


def files(world: World, task: str) -> list[Path]:
    """Return everything on the disk that has the name of the task, except its lock."""
    found = [*(world.root / ".ostler").rglob(task), *(world.root / ".git").rglob(task)]
    return [path for path in found if path.parent.name != "locks" and not {"logs", "refs"} & {*path.parts}]


def left(world: World, task: str) -> list[object]:
    """Return what is left of a task: files, refs and trash."""
    trash = [
        *(world.root / ".git/ostler/.trash").glob("*"),
        *(world.root / ".ostler/worktrees/.trash").glob("*"),
    ]
    return [*files(world, task), *refs(world, task), *trash]


def end_with_all_refs(world: World) -> str:
    """Return a cancelled task that has a worktree, a branch, a rewound commit and refs of its agent."""
    world.environ["OSTLER_GIT__CLEANUP_ON_COMPLETE"] = "false"
    task = world.new("Paint")
    world.ostler("run", task)
    head = world.git("rev-parse", "HEAD").strip()
    names = (f"rewound/{task}/1", f"agent/{task}/heads/try", f"start/{task}", f"reviews/{task}/1")
    for name in (*names, f"previous/a/main/{task}"):
        world.git("update-ref", f"refs/ostler/{name}", head)
    assert (world.root / ".ostler/worktrees" / task).is_dir()
    return task


def test_an_archived_task_is_hidden_until_it_is_needed_again(world: World) -> None:
    """It is left out of status, JSON and counts, and a retry lists it again."""
    done, other = world.new("One"), world.new("Two")
    world.ostler("cancel", done)
    assert "is archived" in world.ostler("archive", done).stderr
    assert [task["id"] for task in world.json("status")["tasks"]] == [other]
    (hidden,) = world.json("status", "--archived")["tasks"]
    assert hidden["id"] == done and hidden["archived_at"]
    assert "archived already" in world.ostler("archive", done, code=2).stderr
    world.ostler("archive", "--undo", "--older-than", "0d")
    assert len(world.json("status")["tasks"]) == 2
    world.ostler("archive", done)
    world.ostler("retry", done)
    assert len(world.json("status")["tasks"]) == 2 and world.show(done)["archived_at"] is None
    kinds = [event["type"] for event in world.events(done)]
    assert (kinds.count("task_archived"), kinds.count("task_unarchived")) == (2, 1)


def test_many_tasks_are_archived_by_age(world: World) -> None:
    """Completed ones only, or all that ended; an open task never is."""
    done = world.new("One")
    world.ostler("run", done)
    cancelled, waiting = world.new("Two"), world.new("Three")
    world.ostler("cancel", cancelled)
    world.ostler("archive", "--completed", "--older-than", "1d")
    assert len(world.json("status")["tasks"]) == 3
    world.ostler("archive", "--completed", "--older-than", "0s")
    assert {task["id"] for task in world.json("status")["tasks"]} == {cancelled, waiting}
    world.ostler("archive", "--older-than", "0s")
    assert [task["id"] for task in world.json("status")["tasks"]] == [waiting]
    assert "only an ended task" in world.ostler("archive", waiting, code=2).stderr
    for bad in (("archive",), ("archive", waiting, "--completed"), ("archive", "--older-than", "5 parsecs")):
        world.ostler(*bad, code=2)


def test_a_task_that_never_ran_is_removed(world: World) -> None:
    """It is gone everywhere, the feed keeps it, and its id is not used again."""
    task = world.new("Paint")
    assert "is removed" in world.ostler("rm", task).stderr
    assert world.json("status")["tasks"] == [] and left(world, task) == []
    for command in (
        ("show", task),
        ("rm", task),
        ("log", task),
        ("run", task),
        ("edit", task, "--title", "X"),
    ):
        assert f"{task} was removed at 20" in world.ostler(*command, code=2).stderr
    assert [event["type"] for event in world.events()][-1] == "task_removed"
    with (
        Project.open(world.root, world.environ) as project,
        pytest.raises(UsageError, match="was removed at"),
    ):
        project.add(Task("Paint", id=TaskId(task)))
    world.check_journal()
    world.ostler("run", "--all")


def test_an_imported_task_that_was_removed_is_imported_again(world: World) -> None:
    """Under another id, since the first one stays reserved."""
    (world.root / "TODO.md").write_text("- [ ] Paint the door\n")
    (first,) = world.json("import", "--checklist", "TODO.md")["tasks"]
    world.ostler("rm", first["id"])
    (second,) = world.json("import", "--checklist", "TODO.md")["tasks"]
    assert second["id"] != first["id"] and world.show(second["id"])["title"] == "Paint the door"


def test_what_others_need_is_not_removed(world: World) -> None:
    """The dependents are named; all of the named tasks are removed together, or none."""
    ran = world.new("Three")
    world.ostler("run", ran)
    first = world.new("One")
    second = world.new("Two", "--after", first)
    refused = world.ostler("rm", first, code=2).stderr
    assert f"{second} depends on {first}" in refused and f"ostler edit {second}" in refused
    refused = world.ostler("rm", first, second, ran, code=2).stderr
    assert f"{ran} has run" in refused and f"ostler purge {ran}" in refused
    assert len(world.json("status")["tasks"]) == 3
    world.ostler("rm", first, second)
    assert [task["id"] for task in world.json("status")["tasks"]] == [ran]


@pytest.mark.full
def test_a_purge_deletes_everything_but_the_records(world: World) -> None:
    """Files, worktree and every ref are gone; the unmerged branch, the events and the costs stay."""
    task = end_with_all_refs(world)
    cost = world.json("cost")
    (planned,) = world.json("purge", task, "--dry-run")["tasks"]
    assert planned["bytes"] > 0 and planned["worktree"] and len(planned["refs"]) == 6
    assert planned["branch"] is None and planned["kept_branch"] == f"ostler/{task}"
    assert files(world, task)
    assert "Purged 1 task" in world.ostler("purge", task, "--yes").stderr
    assert left(world, task) == [] and branches(world) == [f"ostler/{task}"]
    assert world.json("cost") == cost
    shown = world.show(task)
    assert shown["purged_at"] and shown["worktree"] is None and shown["attempts"]
    assert f"purged    {shown['purged_at']}" in world.ostler("show", task).stdout
    assert f"was purged at {shown['purged_at']}" in world.ostler("log", task, code=2).stderr
    assert world.events(task)[-1]["type"] == "task_purged"
    for command in (("rewind", task, "--to", "implement"), ("merge", task), ("purge", task, "--yes")):
        assert "was purged at" in world.ostler(*command, code=2).stderr
    world.check_journal()
    assert left(world, task) == []
    world.ostler("archive", task)
    assert left(world, task) == []


@pytest.mark.full
def test_a_purge_deletes_a_branch_that_is_merged_or_on_request(world: World) -> None:
    """A branch that the user has checked out stays."""
    merged, other, used = (world.new(title) for title in ("One", "Two", "Three"))
    for task in (merged, other, used):
        world.ostler("run", task)
    world.git("merge", "-q", f"ostler/{merged}")
    world.git("worktree", "add", "-q", "../mine", f"ostler/{used}")
    world.ostler("purge", "--older-than", "0s", "--yes")
    assert set(branches(world)) == {f"ostler/{other}", f"ostler/{used}"}
    fourth = world.new("Four")
    world.ostler("run", fourth)
    world.ostler("purge", fourth, "--branches", "--yes")
    assert f"ostler/{fourth}" not in branches(world)


@pytest.mark.full
def test_a_purge_leaves_new_needed_and_open_tasks(world: World) -> None:
    """Only what ended longer ago is purged, and nothing that an open task builds on."""
    base, spare = world.new("One"), world.new("Two")
    world.ostler("run", base, spare)
    follow = world.new("Three", "--after", base)
    assert world.json("purge", "--dry-run")["tasks"] == []
    plan = world.json("purge", "--older-than", "0s", "--yes")
    assert [one["id"] for one in plan["tasks"]] == [spare]
    assert plan["kept"] == [{"id": base, "reason": f"{follow} depends on it"}]
    assert f"{follow} depends on {base}" in world.ostler("purge", base, "--yes", code=2).stderr
    assert "only an ended task" in world.ostler("purge", follow, "--yes", code=2).stderr
    assert "more recently" in world.ostler("purge", base, "--older-than", "1d", "--yes", code=2).stderr
    world.ostler("run", follow)


def test_a_purge_without_a_terminal_needs_yes(world: World) -> None:
    """Exit 2 with the commands, before anything is deleted; an unknown id is named first."""
    world.new("Paint")
    assert "no task nope" in world.ostler("purge", "nope", code=2).stderr
    for options in ((), ("--json",)):
        refused = world.ostler("purge", *options, code=2).stderr
        assert "--dry-run" in refused and "--yes" in refused
    world.ostler("purge", "--older-than", "soon", "--yes", code=2)
    world.ostler("purge", "nope", "--yes", code=2)


def test_a_task_in_use_is_neither_removed_nor_purged(world: World) -> None:
    """While its agent runs, each command is refused."""
    world.behave(fault="a1_hangs")
    task = world.new("Paint")
    run = world.start("run", task)
    wait_until(world.started, 20, "no attempt")
    for command in (("rm", task), ("purge", task, "--yes"), ("archive", task)):
        assert f"{task} is in_progress" in world.ostler(*command, code=2).stderr
    run.terminate()
    run.wait(20)


@pytest.mark.full
@pytest.mark.sampled(2)
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_purge_is_completed_by_the_next(world: World, step: str) -> None:
    """Whatever was deleted before the kill, nothing is left after the second call."""
    task = end_with_all_refs(world)
    world.git("merge", "-q", f"ostler/{task}")
    killed = world.ostler("purge", task, "--yes", code=None, OSTLER_FAILPOINT=f"dispose.{step}:kill")
    assert killed.returncode == -9
    assert world.show(task)["purged_at"]
    plan = world.json("purge", task, "--yes", code=None)
    # After the last directory only the trash is left to empty.
    assert plan.get("finished") == [task] or (step == "directory" and "was purged" in plan["message"])
    assert left(world, task) == [] and branches(world) == []
    assert [event["type"] for event in world.events(task)].count("task_purged") == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("step", ["recorded", "refs", "directory"])
def test_a_killed_removal_is_completed_by_the_next(world: World, step: str) -> None:
    """The removal is recorded first, and the next call deletes what is left."""
    (world.root / "README.md").write_text("changed\n")
    task = world.new("Paint", "--include-changes")
    assert refs(world, task)
    killed = world.ostler("rm", task, code=None, OSTLER_FAILPOINT=f"dispose.{step}:kill")
    assert killed.returncode == -9
    assert world.json("status")["tasks"] == []
    world.ostler("rm", task, code=None)
    world.check_journal()
    assert left(world, task) == []


def test_a_removal_that_another_call_completes_is_left_to_it(world: World) -> None:
    """Tasks of other calls are removed meanwhile."""
    first, second = world.new("First"), world.new("Second")
    world.ostler("rm", first, code=None, OSTLER_FAILPOINT="dispose.recorded:kill")
    with Project.open(world.root, world.environ) as project:
        held = try_lock(project.layout.lock(TaskId(first)))
        assert held is not None
        with held:
            world.ostler("rm", second)
    assert left(world, second) == [] and left(world, first)


def test_a_purge_before_its_record_deletes_nothing(world: World) -> None:
    """A kill before the record leaves the task as it was."""
    task = end_with_all_refs(world)
    before = left(world, task)
    world.ostler("purge", task, "--yes", code=None, OSTLER_FAILPOINT="journal.append:kill")
    assert world.show(task)["purged_at"] is None and left(world, task) == before


def test_no_agent_puts_tasks_away(world: World) -> None:
    """From inside a task the commands are refused."""
    task, own = world.new("One"), world.new("Two")
    world.ostler("cancel", task)
    for command in (("archive", task), ("rm", own), ("purge", task, "--yes")):
        refused = world.ostler(*command, code=2, OSTLER_TASK=own, OSTLER_ATTEMPT=f"store:{own}:1").stderr
        assert f"inside task {own}" in refused
    assert len(world.json("status")["tasks"]) == 2


def test_removed_ids_print_json(world: World) -> None:
    """One document per task, with the time."""
    task = world.new("One")
    removed = json.loads(world.ostler("rm", task, "--json").stdout)
    assert removed["id"] == task and removed["removed_at"]

"""Tasks that come after others, from `new --after` to the end of the run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ostler.model.ids import TaskId
from ostler.model.rows import build_row
from ostler.project.project import Project
from world import World, wait_until


@pytest.fixture
def chosen(world: World) -> World:
    """The executor decides how a task ends: `good` changes a file, `bad` fails until `mended` exists."""
    mended = world.root.parent / "mended"
    agents = {"good": "true", "bad": f"test -e {mended}"}
    sections = (
        f'[executors.{name}]\ntype = "command"\ncommand = "sh"\n'
        f'args = ["-c", "{what} && echo x > $OSTLER_TASK"]\n'
        for name, what in agents.items()
    )
    (world.root / "ostler.toml").write_text("".join(sections))
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    return world


def good(world: World, title: str, *after: str, **more: str) -> str:
    return add(world, title, "good", *after, **more)


def bad(world: World, title: str, *after: str, **more: str) -> str:
    return add(world, title, "bad", *after, **more)


def add(world: World, title: str, executor: str, *after: str, **more: str) -> str:
    options = [word for name, value in more.items() for word in (f"--{name}", value)]
    return world.new(title, "--executor", executor, *(w for one in after for w in ("--after", one)), *options)


def statuses(world: World) -> dict[str, str]:
    return {task["id"]: task["status"] for task in world.json("status")["tasks"]}


def order_of(world: World, kind: str) -> list[str]:
    return [event["task_id"] for event in world.events() if event["type"] == kind]


def test_tasks_run_in_the_order_in_which_they_come_after_each_other(chosen: World) -> None:
    """With free slots, and against their priority; the beginning of an id is enough."""
    first = good(chosen, "First", priority="P3")
    second = good(chosen, "Second", first[:7], priority="P1")
    third = good(chosen, "Third", first, second, priority="P0")
    chosen.ostler("run", "--all", "-j", "3")
    assert order_of(chosen, "task_completed") == [first, second, third]
    claimed, completed = (
        [event["seq"] for event in chosen.events() if event["type"] == kind]
        for kind in ("task_claimed", "task_completed")
    )
    assert claimed[1] > completed[0] and claimed[2] > completed[1]


def test_the_list_and_the_card_report_what_a_task_waits_for(chosen: World) -> None:
    """Until it is completed; a run of that task alone is refused with the command that runs both."""
    first = good(chosen, "First")
    second = good(chosen, "Second", first)
    assert f"after {first}" in chosen.ostler("status").stdout
    shown = chosen.show(second)
    assert (shown["after"], shown["waits_for"]) == ([first], [first])
    refused = chosen.ostler("run", second, code=2).stderr
    assert f"depends on {first}, which is pending" in refused
    assert f"ostler run {first} {second}" in refused
    chosen.ostler("run", first, second)
    shown = chosen.show(second)
    assert (shown["status"], shown["after"], shown["waits_for"]) == ("completed", [first], [])


def test_a_task_before_it_that_waits_for_a_person_holds_it_back(chosen: World) -> None:
    """No task failed and none is completed: exit 4, and it is unchanged."""
    first = good(chosen, "First")
    second = good(chosen, "Second", first)
    chosen.ostler("pause", first)
    chosen.ostler("run", first, second, code=4)
    assert statuses(chosen) == {first: "paused", second: "pending"}
    chosen.ostler("resume", first)
    chosen.ostler("run", first, second)
    assert statuses(chosen) == {first: "completed", second: "completed"}


@pytest.mark.full
def test_a_failure_blocks_what_comes_after_it_and_a_retry_opens_it_again(chosen: World) -> None:
    """Recorded once, with the name of the failed task; tasks after the blocked one just wait."""
    first, other = bad(chosen, "First"), good(chosen, "Other")
    second = good(chosen, "Second", first)
    third = good(chosen, "Third", second, other)
    chosen.ostler("run", "--all", code=1)
    assert statuses(chosen) == {first: "failed", other: "completed", second: "blocked", third: "pending"}
    shown = chosen.show(second)
    assert (shown["code"], shown["message"]) == (
        "DEPENDENCY_FAILED",
        f"it depends on {first}, which is failed",
    )
    assert f"ostler retry {first}" in chosen.ostler("show", second).stdout
    chosen.ostler("run", "--all", code=0)  # no task is left to run
    chosen.ostler("run", second, code=4)
    assert order_of(chosen, "task_blocked") == [second]
    (chosen.root.parent / "mended").touch()
    chosen.ostler("retry", first)
    chosen.ostler("run", "--all")
    assert set(statuses(chosen).values()) == {"completed"}
    assert order_of(chosen, "task_completed") == [other, first, second, third]


def test_a_task_before_it_that_was_cancelled_blocks_it_in_the_next_run(chosen: World) -> None:
    """The run that finds it reports it, exit 4; a person may continue it without the other."""
    first = good(chosen, "First")
    second = good(chosen, "Second", first)
    chosen.ostler("cancel", first)
    assert chosen.show(second)["status"] == "pending"
    printed = chosen.ostler("run", "--all", code=4)
    assert "DEPENDENCY_FAILED" in printed.stdout
    assert f"ostler resume {second}" in printed.stderr
    chosen.ostler("resume", second)
    chosen.ostler("run", "--all")
    assert statuses(chosen) == {first: "cancelled", second: "completed"}


@pytest.mark.full
def test_two_runs_record_a_block_once(chosen: World) -> None:
    """The first run records it; the other one reads it."""
    first = good(chosen, "First")
    later = [good(chosen, f"Later {number}", first) for number in range(5)]
    chosen.ostler("cancel", first)
    runs = [chosen.start("run", "--all") for _ in range(3)]
    assert {run.wait(60) for run in runs} <= {0, 4}
    assert sorted(order_of(chosen, "task_blocked")) == sorted(later)


def test_continue_is_the_default_and_fail_fast_takes_nothing_more(chosen: World) -> None:
    """One at a time: after the failure the others are unchanged."""
    first = bad(chosen, "First", priority="P0")
    rest = [good(chosen, f"Rest {number}") for number in range(2)]
    chosen.ostler("run", "--all", "-j", "1", "--fail-fast", code=1)
    assert statuses(chosen) == {first: "failed", **dict.fromkeys(rest, "pending")}
    chosen.ostler("retry", first)
    chosen.ostler("run", "--all", "-j", "1", code=1)
    assert statuses(chosen) == {first: "failed", **dict.fromkeys(rest, "completed")}


def test_a_name_that_is_no_task_is_refused(chosen: World) -> None:
    """Exit 2, one sentence, and no task is created."""
    assert "no task nobody" in chosen.ostler("new", "Late", "--after", "nobody", code=2).stderr
    assert "empty id" in chosen.ostler("new", "Late", "--after", "", code=2).stderr
    good(chosen, "Same one"), good(chosen, "Same two")
    assert "use a longer prefix" in chosen.ostler("new", "Late", "--after", "same", code=2).stderr
    assert len(statuses(chosen)) == 2


def test_tasks_that_wait_for_each_other_are_refused_with_the_cycle(chosen: World) -> None:
    """Only an edited store has such tasks; a run ends, and starts none of them."""
    first = good(chosen, "First")
    second = good(chosen, "Second", first)
    make_wait(chosen, first, second)
    refused = chosen.ostler("new", "Third", "--after", second, code=2).stderr
    assert f"{second} -> {first} -> {second}" in refused
    chosen.ostler("run", "--all")
    assert set(statuses(chosen).values()) == {"pending"}


def make_wait(world: World, task: str, other: str) -> None:
    """Do what no command does: let an older task come after a newer one."""
    with Project.open(world.root, world.environ) as project, project.journal.transaction():
        state = replace(project.state(TaskId(task)), after=(TaskId(other),))
        project.journal._write_row(build_row(state))


def test_a_task_is_not_begun_before_its_time(chosen: World) -> None:
    """A day far away is reported; a past time has no effect; an invalid time is refused."""
    late, past = (
        good(chosen, "Late", **{"not-before": "2999-01-31"}),
        good(chosen, "Past", **{"not-before": "2020-01-31T10:00Z"}),
    )
    chosen.ostler("run", "--all")
    assert statuses(chosen) == {late: "pending", past: "completed"}
    assert "not before 2999-01-31" in chosen.ostler("status").stdout
    assert "starts no earlier than 2999-01-3" in chosen.ostler("run", late, code=2).stderr
    assert "not_before=" in chosen.ostler("new", "Later", "--not-before", "2999-01-31").stderr
    assert "invalid --not-before" in chosen.ostler("new", "When", "--not-before", "soon", code=2).stderr


@pytest.mark.full
def test_a_task_that_is_retried_during_the_run_takes_those_after_it_along(world: World) -> None:
    """The run that recorded the block removes it."""
    mended, over = world.root.parent / "mended", world.root.parent / "over"
    agents = {
        "good": "true",
        "bad": f"test -e {mended}",
        "waits": f"until test -e {over}; do sleep 0.05; done",
    }
    sections = (
        f'[executors.{name}]\ntype = "command"\ncommand = "sh"\n'
        f'args = ["-c", "{what} && echo x > $OSTLER_TASK"]\n'
        for name, what in agents.items()
    )
    (world.root / "ostler.toml").write_text("".join(sections))
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    first = bad(world, "First")
    second = good(world, "Second", first)
    add(world, "Slow", "waits")
    run = world.start("run", "--all", "-j", "2")
    wait_until(lambda: world.show(second)["status"] == "blocked", 30, "it was not blocked")
    mended.touch()
    world.ostler("retry", first)
    wait_until(lambda: world.show(second)["status"] == "completed", 30, "it was not taken along")
    over.touch()
    assert run.wait(20) == 0

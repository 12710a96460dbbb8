"""A journal that another process holds, and one that is damaged, through the whole program (B16, B17)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from journal_file import journal_path
from nemesis import check_refusal
from oracle import check_all_done
from world import INTERRUPT, KILL, World, end, end_by_two, wait_until


def hold(world: World) -> apsw.Connection:
    """Block every other writer until the connection is closed."""
    holder = apsw.Connection(str(journal_path(world.root)))
    holder.set_busy_timeout(20_000)
    holder.execute("begin exclusive")
    return holder


@pytest.mark.full
def test_a_journal_held_for_long_drops_no_answer(world: World) -> None:
    """STATE_BUSY for `new`; a run in the middle of a task prints what it waits for and continues (R5)."""
    world.behave(delay_seconds=0.5)
    task = world.new("First")
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    holder = hold(world)
    done = world.ostler("new", "Second", code=1)
    check_refusal(done, 1, "STATE_BUSY", "ostler.db")
    assert done.stdout == ""
    errors = world.root.parent / "err.txt"
    wait_until(lambda: "waiting for the journal" in errors.read_text(), 30, "the wait is not printed")
    holder.close()
    assert run.wait(60) == 0
    assert "the wait is over" in errors.read_text() and "Traceback" not in errors.read_text()
    assert [found["id"] for found in world.json("status")["tasks"]] == [task]
    check_all_done(world, [task])
    assert len(world.started()) == 1, "the answer was dropped"


@pytest.mark.full
def test_a_run_that_ends_while_the_journal_is_held_keeps_the_answer(world: World) -> None:
    """Two interrupts end the run at once; the next one uses the answer and calls no agent (R5)."""
    task = world.new("First")
    world.behave(delay_seconds=0.5)
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    holder = hold(world)
    kept = world.root / ".ostler" / "tasks" / task / "unrecorded-answer.json"
    wait_until(kept.exists, 30, "the answer is not kept")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert end_by_two(run, INTERRUPT) == 130
    holder.close()
    world.ostler("run", "--all")
    check_all_done(world, [task])
    assert len(world.started()) == 1, "the answer was dropped"
    assert [attempt["status"] for attempt in world.show(task)["attempts"]] == ["succeeded"]


def test_a_run_that_dies_before_the_call_is_recorded_keeps_the_answer(world: World) -> None:
    """The attempt is recorded, its step is not: the next run uses the answer and calls no agent."""
    task = world.new("First")
    world.ostler("run", "--all", code=-9, OSTLER_FAILPOINT="attempt.ended:kill:1")
    assert [attempt["status"] for attempt in world.show(task)["attempts"]] == ["succeeded"]
    world.ostler("run", "--all")
    check_all_done(world, [task])
    assert len(world.started()) == 1, "the answer was dropped"
    assert not list(world.root.rglob("unrecorded-answer.json"))


@pytest.mark.full
def test_one_interrupt_ends_a_run_that_waits_for_the_journal(world: World) -> None:
    """The writes wait in another thread than the one that handles signals; the answer is kept."""
    task = world.new("First")
    world.behave(delay_seconds=0.5)
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    holder = hold(world)
    errors = world.root.parent / "err.txt"
    wait_until(lambda: "waiting for the journal" in errors.read_text(), 30, "the wait is not printed")
    os.kill(run.pid, INTERRUPT)
    assert run.wait(15) == 130
    assert "Stopping; all work is kept." in errors.read_text() and "Traceback" not in errors.read_text()
    holder.close()
    world.ostler("run", "--all")
    check_all_done(world, [task])
    assert len(world.started()) == 1, "the answer was dropped"


def test_a_journal_held_for_a_moment_is_waited_for(world: World) -> None:
    """One second is short: the run completes and `new` is acknowledged, without a message."""
    world.behave(delay_seconds=0.2)
    tasks = [world.new("First")]
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    holder = hold(world)
    new = world.start("new", "Second")
    time.sleep(1.0)
    holder.close()
    assert (new.wait(30), run.wait(30)) == (0, 0)
    world.ostler("run", "--all")
    tasks += [found["id"] for found in world.json("status")["tasks"] if found["id"] not in tasks]
    check_all_done(world, tasks)
    assert len(world.started()) == len(tasks) == 2


def fill_with_garbage(path: Path) -> None:
    path.write_bytes(os.urandom(20_000))


def flip_bytes(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 64] = b"\xff" * 64
    path.write_bytes(data)


def cut_short(path: Path) -> None:
    os.truncate(path, 5_000)  # below the pages that the log has


def empty(path: Path) -> None:
    os.truncate(path, 0)


def zero_the_log(path: Path) -> None:
    log = path.with_name(path.name + "-wal")
    log.write_bytes(bytes(log.stat().st_size))


def put_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def put_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = [fill_with_garbage, flip_bytes, cut_short, empty, zero_the_log, put_a_pipe, put_a_directory]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_journal_is_refused_and_kept(world: World, damage: Callable[[Path], None]) -> None:
    """Exit 2 for every command, the files are unchanged, and a new database is never created."""
    state = journal_path(world.root).parent
    world.behave(fault="a1_hangs")
    world.new()
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    end(run, KILL)  # so that a log is left next to the database
    wait_until(lambda: not world.survivors(), 20, "the agent outlived the run")
    damage(state / "ostler.db")
    before = contents(state)
    code = "USAGE" if damage is put_a_directory else "STATE_CORRUPT"
    for command in (["new", "Second"], ["run", "--all"], ["status"]):
        check_refusal(world.ostler(*command, "--json", code=2), 2, code, str(state / "ostler.db"))
    assert contents(state) == before


def contents(state: Path) -> dict[str, bytes]:
    """Return the journal's files without the index of its log, which every opening rebuilds."""
    files = [path for path in state.glob("*.db*") if not path.name.endswith("-shm")]
    return {path.name: path.read_bytes() if path.is_file() else b"" for path in files}

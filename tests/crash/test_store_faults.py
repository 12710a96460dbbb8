"""A journal that another process holds, and one that is damaged, through the whole program (B16, B17)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from journal_file import journal_path
from nemesis import check_refusal
from oracle import check_all_done
from world import KILL, World, end, wait_until


def hold(world: World) -> apsw.Connection:
    """Block every other writer until the connection is closed."""
    holder = apsw.Connection(str(journal_path(world.root)))
    holder.set_busy_timeout(20_000)
    holder.execute("begin exclusive")
    return holder


@pytest.mark.full
def test_a_journal_held_too_long_loses_no_task(world: World) -> None:
    """STATE_BUSY for a run in the middle of a task and for `new`; both are repeated with success."""
    world.behave(delay_seconds=2.0)
    task = world.new("First")
    run = world.start("run", "--all", "--json")
    wait_until(world.started, 30, "the agent did not start")
    holder = hold(world)
    done = world.ostler("new", "Second", code=1)
    check_refusal(done, 1, "STATE_BUSY", "ostler.db")
    assert done.stdout == ""
    assert run.wait(60) == 1
    printed = (world.root.parent / "out.txt").read_text().splitlines()[-1]
    assert json.loads(printed)["code"] == "STATE_BUSY"
    assert "Traceback" not in (world.root.parent / "err.txt").read_text()
    holder.close()
    assert [found["id"] for found in world.json("status")["tasks"]] == [task]
    world.ostler("run", "--all")
    check_all_done(world, [task])


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

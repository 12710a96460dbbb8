"""A test of the tests: a safeguard is taken out of a copy of the program, and an oracle notices."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

import ostler
from flushes import check_new_journal_is_flushed, check_task_is_flushed
from nemesis import needs_strace
from ostler.testing.fake_agent import read_ledger
from world import World

TESTS = Path(__file__).parent.parent


class Mutant:
    """A copy of the program with one text replaced; `sound` leaves it as it is."""

    def __init__(self, folder: Path, file: str, text: str, instead: str, sound: bool) -> None:
        self.path = folder / "mutant"
        shutil.copytree(Path(ostler.__file__).parent, self.path / "ostler", ignore=lambda *_: ["__pycache__"])
        target = self.path / "ostler" / file
        found = target.read_text()
        assert found.count(text) == 1, f"{file} does not say {text!r} once: adapt this test"
        if not sound:
            target.write_text(found.replace(text, instead))

    def world(self, folder: Path, **behaviour: object) -> World:
        world = World(folder, **behaviour)
        world.environ["PYTHONPATH"] = str(self.path)
        return world


both = pytest.mark.parametrize("sound", [True, False], ids=["sound", "mutant"])


@both
def test_a_missing_fence_is_noticed(tmp_path: Path, sound: bool) -> None:
    """Without the unique index several processes win the same task."""
    mutant = Mutant(
        tmp_path, "store/schema.py", "CREATE UNIQUE INDEX record_once", "CREATE INDEX record_once", sound
    )
    most = max(count_wins(mutant, tmp_path / "ostler.db").values())
    assert most == 1 if sound else most > 1


def count_wins(mutant: Mutant, database: Path) -> dict[str, int]:
    """How often each of fifty tasks was won by four processes that claim them at the same time."""
    environ = os.environ | {"PYTHONPATH": f"{mutant.path}{os.pathsep}{TESTS}"}
    child = [sys.executable, str(TESTS / "journal_child.py"), str(database)]
    subprocess.run([*child, "create", "0"], env=environ, check=True, input=b"\n", capture_output=True)
    racers = [
        subprocess.Popen([*child, "claim", "50"], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        racer.stdout.readline()
    said = [racer.communicate(b"\n")[0].decode() for racer in racers]
    wins = re.findall(r"won (\S+)", "".join(said))
    return {task: wins.count(task) for task in wins}


@needs_strace
@both
def test_a_journal_that_does_not_flush_is_noticed(tmp_path: Path, sound: bool) -> None:
    """With synchronous = OFF the id is printed before the disk has the task."""
    mutant = Mutant(
        tmp_path, "store/opening.py", "PRAGMA synchronous = FULL", "PRAGMA synchronous = OFF", sound
    )
    assert holds(check_task_is_flushed, mutant.world(tmp_path)) is sound


@needs_strace
@both
def test_a_file_that_is_not_flushed_is_noticed(tmp_path: Path, sound: bool) -> None:
    """Without the flush the file has its name before it has its bytes."""
    mutant = Mutant(tmp_path, "files/atomic.py", "            flush(fd)\n", "            pass\n", sound)
    assert holds(check_new_journal_is_flushed, mutant.world(tmp_path)) is sound


def holds(check: Callable[[World], None], world: World) -> bool:
    """Whether the oracle is content."""
    try:
        check(world)
    except AssertionError:
        return False
    finally:
        world.close()
    return True


@both
def test_a_missing_subreaper_is_noticed(tmp_path: Path, sound: bool) -> None:
    """Without the one call a daemon that an agent started outlives its task."""
    call = "return _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0"
    mutant = Mutant(tmp_path, "process/keepers/tree.py", call, "return True", sound)
    world = mutant.world(tmp_path, fault="a4_daemons", count=1)
    world.new()
    world.ostler("run", "--all")
    left = daemons_of(world)
    for daemon in left:
        daemon.kill()
    assert bool(left) is not sound
    world.close()


def daemons_of(world: World) -> list[psutil.Process]:
    """Found by the file that a daemon of the fake writes to: its environment and directory tell nothing."""
    assert "daemon" in [line["event"] for line in read_ledger(world.ledger)]
    marks = ((process, process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    return [process for process, words in marks if f"{world.agents / 'claude'}.beats" in words]

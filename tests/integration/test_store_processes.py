"""Many processes on one journal, and processes that are killed while they write."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import apsw
import pytest

from children import Children
from journal_values import TASK
from ostler.store.sqlite.journal import SqliteJournal

FULL = bool(os.environ.get("OSTLER_FULL"))
PROCESSES = 8
CHILDREN = Children("journal_child.py", PROCESSES)


def integrity(path: Path) -> str:
    return str(apsw.Connection(str(path)).pragma("integrity_check"))


@pytest.mark.full
@pytest.mark.slow
def test_each_claim_is_won_once(tmp_path: Path) -> None:
    """Eight processes that claim the same tasks: every task has exactly one winner."""
    path, count = tmp_path / "ostler.db", 10_000 if FULL else 200
    SqliteJournal(path, create=True).close()
    wins = CHILDREN.run_together(path, "claim", count)
    assert set(wins) == {b"won task-%d" % number for number in range(count)}
    assert set(wins.values()) == {1}
    with SqliteJournal(path) as journal:
        assert len(journal.feed(limit=10 * count)) == count
    assert integrity(path) == "ok"


def test_first_start_of_many(tmp_path: Path) -> None:
    """Processes that create the journal at the same moment agree on one."""
    path = tmp_path / ".ostler" / "ostler.db"
    assert list(CHILDREN.run_together(path, "create", 0).values()) == [PROCESSES]
    assert not list(path.parent.glob(".*.tmp"))


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("verb", ["append", "loop"])
def test_kill_while_appending(tmp_path: Path, verb: str) -> None:
    """What was acknowledged before kill -9 is there afterwards, in order and without a gap."""
    path = tmp_path / "ostler.db"
    SqliteJournal(path, create=True).close()
    chance = random.Random(7)
    acknowledged = 0
    for _ in range(100 if FULL else 8):
        with CHILDREN.start(path, verb, 1_000_000) as child:
            assert child.stdout is not None
            first = child.stdout.readline()
            time.sleep(chance.uniform(0, 0.02))
            child.send_signal(signal.SIGKILL)
            lines = [first, *child.stdout.read().split(b"\n")]
        acks = [int(line.split()[1]) for line in lines if line.startswith(b"ack ")]
        assert acks[0] >= acknowledged + 1
        acknowledged = acks[-1]
        with SqliteJournal(path) as journal:
            seqs = [record.seq for record in journal.read(TASK)]
            row = journal.row(TASK)
        assert seqs == list(range(1, len(seqs) + 1))
        assert acknowledged <= len(seqs) <= acknowledged + 1
        assert row is not None
        assert row.seq == len(seqs)
        assert integrity(path) == "ok"


@pytest.mark.parametrize("verb", ["append", "loop"])
@pytest.mark.parametrize(("point", "kept"), [("journal.append", 4), ("journal.appended", 5)])
def test_kill_beside_the_commit(tmp_path: Path, verb: str, point: str, kept: int) -> None:
    """Killed before the commit a record is absent; killed after it, present but not acknowledged."""
    path = tmp_path / "ostler.db"
    SqliteJournal(path, create=True).close()
    with CHILDREN.start(path, verb, 9, OSTLER_FAILPOINT=f"{point}:kill:5") as child:
        assert child.stdout is not None
        assert child.stdout.read().splitlines()[-1] == b"ack 4"
    assert child.returncode == -signal.SIGKILL
    with SqliteJournal(path) as journal:
        assert len(journal.read(TASK)) == kept

"""Many processes on one ledger, and processes that are killed between and inside their writes."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import apsw
import pytest

from children import Children
from ledger_child import NOW, accounts_of
from ostler.errors import Code
from ostler.model.limits.limit import LEASE_SECONDS, Probe
from ostler.model.limits.window import Window
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore

FULL = bool(os.environ.get("OSTLER_FULL"))
PROCESSES = 6
CHILDREN = Children("ledger_child.py", PROCESSES)
COUNT = 500 if FULL else 40


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ostler.db"
    SqliteJournal(path, create=True).close()
    return path


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("verb", ["probe", "try"])
def test_one_caller_over_all_processes(path: Path, verb: str) -> None:
    """However many callers ask for a window that is due, or a model after its cooldown: exactly one may try
    each.
    """
    ledger, accounts = SqliteStore(path).open_ledger(), SqliteAccounts(accounts_of(path))
    for number in range(COUNT):
        accounts.close_window(Window("p", str(number)), NOW - 1, Code.RATE_LIMITED, "", NOW - 1)
        ledger.record_failure(str(number), Code.RATE_LIMITED, "", NOW - 1, 1, 1)
    ledger.close()
    assert CHILDREN.run_together(path, verb, COUNT) == {b"won %d" % number: 1 for number in range(COUNT)}


@pytest.mark.slow
def test_one_budget_for_all_processes(path: Path) -> None:
    """Exactly as many retries as the hour has."""
    assert CHILDREN.run_together(path, "spend", COUNT) == {b"won": COUNT}


@pytest.mark.slow
def test_kill_between_notes_loses_none(path: Path) -> None:
    """What the ledger acknowledged before kill -9 is there afterwards."""
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for _ in range(60 if FULL else 6):
        with CHILDREN.start(path, "note", 1_000_000) as child:
            assert child.stdout is not None
            first = child.stdout.readline()
            time.sleep(chance.uniform(0, 0.02))
            child.send_signal(signal.SIGKILL)
            lines = [first, *child.stdout.read().split(b"\n")]
        acknowledged |= {line.split()[1].decode() for line in lines if line.startswith(b"ack ")}
        ledger = SqliteStore(path).open_ledger()
        limits = SqliteAccounts(accounts_of(path)).limits(NOW)
        assert acknowledged <= {f"{limit.window.provider}:{limit.window.account}" for limit in limits}
        assert acknowledged <= {rest.model for rest in ledger.cooldowns(NOW)}
        assert not ledger.take_retry(NOW, len(acknowledged))
        ledger.close()
        assert apsw.Connection(str(path)).pragma("integrity_check") == "ok"


@pytest.mark.parametrize(("point", "kept"), [("accounts.write", 0), ("accounts.written", 1)])
def test_kill_beside_the_commit(path: Path, point: str, kept: int) -> None:
    """A limit is recorded completely or not at all."""
    with CHILDREN.start(path, "note", 9, OSTLER_FAILPOINT=f"{point}:kill:1") as child:
        assert child.stdout is not None
        assert child.stdout.read() == b""
    assert child.returncode == -signal.SIGKILL
    ledger = SqliteAccounts(accounts_of(path))
    assert len(ledger.limits(NOW)) == kept
    ledger.close()


def test_a_prober_that_was_killed_does_not_block_others_for_long(path: Path) -> None:
    """Its lease ends, and another process gets the probe."""
    window = Window("p", "0")
    ledger = SqliteAccounts(accounts_of(path))
    ledger.close_window(window, NOW - 1, Code.RATE_LIMITED, "", NOW - 1)
    with CHILDREN.start(path, "probe", 1, OSTLER_FAILPOINT="accounts.written:kill:1") as child:
        assert child.communicate(b"\n")[0] == b"ready\n"
    assert child.returncode == -signal.SIGKILL
    assert not isinstance(ledger.admit([window], "ada", NOW + 1), Probe)
    assert ledger.admit([window], "ada", NOW + LEASE_SECONDS) == Probe((window,))
    ledger.close()

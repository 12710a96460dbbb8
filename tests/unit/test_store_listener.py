"""The listener of a journal in a file: it wakes after each write of another process."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from journal_values import make_record, make_row
from ostler.store.sqlite import listener
from ostler.store.sqlite.listener import FileListener
from stores import create_sqlite_store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports changes of files")


def test_each_write_wakes(tmp_path: Path) -> None:
    """Once when it listens, and after each commit through another connection; not after other files."""
    store, woken = create_sqlite_store(tmp_path / "ostler.db"), threading.Semaphore(0)
    with store.open_journal() as journal, closing(FileListener(tmp_path / "ostler.db", woken.release)):
        assert woken.acquire(timeout=30)
        (tmp_path / "other").write_text("x")
        assert not woken.acquire(timeout=0.05)
        for seq in (1, 2):
            assert journal.append(make_record(seq), make_row(seq))
            assert woken.acquire(timeout=30)
            while woken.acquire(timeout=0.05):
                pass  # a commit writes more than once


def test_it_leaves_nothing_open(tmp_path: Path) -> None:
    """Neither a descriptor nor a thread, also when the directory cannot be watched."""
    before, threads = set(os.listdir("/proc/self/fd")), threading.active_count()
    for directory in (tmp_path, tmp_path / "missing"):
        FileListener(directory / "ostler.db", lambda: None).close()
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert threading.active_count() == threads


def test_where_nothing_is_reported_nothing_wakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the journal is polled as often as before."""
    monkeypatch.setattr(listener, "_watch", lambda directory: None)
    woken = threading.Event()
    with closing(FileListener(tmp_path / "ostler.db", woken.set)):
        assert not woken.wait(0.05)

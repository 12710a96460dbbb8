"""Flushes that several requests share."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ostler.errors import OstlerError
from ostler.files import flush
from ostler.files.flush import flush_filesystems


def test_requests_during_a_flush_share_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush that has started may have passed the files of a later request, which waits for another one."""
    flushed: list[Path] = []
    started, go = threading.Event(), threading.Event()

    def sync(place: Path) -> None:
        flushed.append(place)
        started.set()
        assert go.wait(10)

    monkeypatch.setattr(flush, "sync_filesystem", sync)
    monkeypatch.setattr(flush, "_flushes", {})
    threads = [threading.Thread(target=flush_filesystems, args=([tmp_path],)) for _ in range(5)]
    threads[0].start()
    assert started.wait(10)
    for thread in threads[1:]:
        thread.start()
    threading.Event().wait(0.2)  # until all of them wait
    go.set()
    for thread in threads:
        thread.join(10)
    assert flushed == [tmp_path] * 2


def test_a_flush_that_failed_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request does not take it for its own."""
    failures = [OSError(5, "input/output error")]

    def sync(place: Path) -> None:
        if failures:
            raise failures.pop()

    monkeypatch.setattr(flush, "sync_filesystem", sync)
    monkeypatch.setattr(flush, "_flushes", {})
    with pytest.raises(OSError, match="input"):
        flush_filesystems([tmp_path])
    flush_filesystems([tmp_path])
    assert failures == []


def test_a_directory_that_is_missing_is_an_error(tmp_path: Path) -> None:
    """It has a code, and is no bug of Ostler."""
    with pytest.raises(OstlerError):
        flush_filesystems([tmp_path / "gone"])

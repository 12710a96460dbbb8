"""The journal on a disk that is full, read-only or failing, with the real system calls."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from journal_values import TASK, make_record, make_row
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.atomic import write_atomic
from ostler.store.sqlite.journal import SqliteJournal

CHILD = Path(__file__).parents[1] / "support" / "journal_child.py"
APPENDS = 20

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """One megabyte of space, mounted for this test."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "ostler-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def run_traced(path: Path, *options: str) -> tuple[list[str], str]:
    """Return the output of a child that appends, and the trace of its flushes."""
    trace = path.with_name("trace")
    command = ["strace", "-f", "-o", str(trace), "-e", "trace=fsync,fdatasync", *options]
    done = subprocess.run(
        [*command, sys.executable, str(CHILD), str(path), "append", str(APPENDS)],
        check=True,
        capture_output=True,
    )
    return done.stdout.decode().splitlines(), trace.read_text()


def count_flushes(trace: str) -> int:
    return len(re.findall(r"f(?:data)?sync\(\d+\)", trace))


def make(path: Path) -> Path:
    SqliteJournal(path, create=True).close()
    return path


@needs_strace
def test_every_append_is_flushed(tmp_path: Path) -> None:
    """Each acknowledged append has made the system flush."""
    printed, trace = run_traced(make(tmp_path / "sound.db"))
    assert printed == [f"ack {seq}" for seq in range(1, APPENDS + 1)]
    assert count_flushes(trace) >= APPENDS


@needs_strace
def test_failed_flush_is_never_acknowledged(tmp_path: Path) -> None:
    """One fsync that fails with EIO: that append is refused, and so is all that follows."""
    path = make(tmp_path / "ostler.db")
    printed, _ = run_traced(path, "-e", "inject=fdatasync:error=EIO:when=8")
    acks = [line for line in printed if line.startswith("ack")]
    assert printed == acks + ["refused STORAGE_ERROR"] * (APPENDS - len(acks))
    assert 0 < len(acks) < APPENDS
    with SqliteJournal(path) as journal:
        assert len(journal.read(TASK)) >= len(acks)
    assert apsw.Connection(str(path)).pragma("integrity_check") == "ok"


def test_disk_full_and_back(small_disk: Path) -> None:
    """A full disk raises its code and loses nothing; when space is free again, the same journal works."""
    path = small_disk / ".ostler" / "ostler.db"
    with SqliteJournal(path, create=True) as journal:
        assert journal.append(make_record(1), make_row(1))
        (small_disk / "filler").write_bytes(bytes(600_000))
        seq, codes = fill(journal, 2)
        assert codes == [Code.DISK_FULL]
        assert [record.seq for record in journal.read(TASK)] == list(range(1, seq))
        with pytest.raises(OstlerError) as caught:
            write_atomic(small_disk / "output", bytes(900_000))
        assert caught.value.code is Code.DISK_FULL
        assert not list(small_disk.glob(".*.tmp"))
        (small_disk / "filler").unlink()
        assert journal.append(make_record(seq), make_row(seq))
    with SqliteJournal(path) as journal:
        assert len(journal.read(TASK)) == seq
        assert journal._db.connection.pragma("integrity_check") == "ok"


def fill(journal: SqliteJournal, seq: int) -> tuple[int, list[Code]]:
    """Append until the disk is full; return the seq that did not fit, and the error."""
    while True:
        try:
            assert journal.append(make_record(seq), make_row(seq))
        except OstlerError as error:
            return seq, [error.code]
        seq += 1


def test_full_disk_at_creation(small_disk: Path) -> None:
    """A journal that does not fit is not created at all."""
    (small_disk / "filler").write_bytes(bytes(1_030_000))
    with pytest.raises(OstlerError) as caught:
        SqliteJournal(small_disk / ".ostler" / "ostler.db", create=True)
    assert caught.value.code is Code.DISK_FULL
    assert not [file for file in small_disk.rglob("*") if file.is_file() and file.name != "filler"]


def test_read_only_disk(small_disk: Path) -> None:
    """A read-only directory is refused with its name and exit 2."""
    path = make(small_disk / ".ostler" / "ostler.db")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(UsageError, match=str(path)) as caught, SqliteJournal(path) as journal:
        journal.append(make_record(1), make_row(1))
    assert caught.value.exit == 2
    with pytest.raises(UsageError, match="read-only") as caught:
        SqliteJournal(small_disk / "other" / "ostler.db", create=True)
    assert caught.value.exit == 2
    with pytest.raises(OstlerError, match=str(small_disk / "output")) as failed:
        write_atomic(small_disk / "output", b"x")
    assert failed.value.code is Code.WORKSPACE_WRITE_FAILED

"""A journal that was deleted, moved or replaced is noticed at the next commit, and nothing is lost."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from journal_values import TASK, make_record, make_row
from ostler.errors import Code, StateError, UsageError
from ostler.store.sqlite.identity import Home
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.recovery.rescue import list_rescues, require_no_rescue
from ostler.store.sqlite.store import SqliteStore


def delete(path: Path) -> None:
    path.unlink()


def move_away(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def move_the_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


def replace_by_a_copy(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    copy.replace(path)


def delete_the_log(path: Path) -> None:
    path.with_name("ostler.db-wal").unlink()


def delete_the_index(path: Path) -> None:
    path.with_name("ostler.db-shm").unlink()


def replace_the_log(path: Path) -> None:
    log = path.with_name("ostler.db-wal")
    shutil.copy(log, log.with_suffix(".copy"))
    log.with_suffix(".copy").replace(log)


LOSSES = {
    "log deleted": (delete_the_log, "ostler.db-wal of the journal was deleted"),
    "index deleted": (delete_the_index, "ostler.db-shm of the journal was deleted"),
    "log replaced": (replace_the_log, "ostler.db-wal of the journal was replaced"),
    "deleted": (delete, "was deleted or moved away"),
    "moved": (move_away, "was deleted or moved away"),
    "folder": (move_the_folder, "was deleted or moved away"),
    "replaced": (replace_by_a_copy, "was replaced by another file"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".ostler" / "ostler.db"


@pytest.mark.parametrize("name", LOSSES)
def test_lost_journal_is_refused_for_ever(path: Path, name: str) -> None:
    """The write after the loss raises JOURNAL_LOST with exit 3, and no later one succeeds."""
    lose, text = LOSSES[name]
    with SqliteJournal(path, create=True) as journal:
        assert journal.append(make_record(1), make_row(1))
        lose(path)
        for seq in (2, 3):
            with pytest.raises(StateError, match=text) as caught:
                journal.append(make_record(seq), make_row(seq))
            assert (caught.value.code, caught.value.exit) == (Code.JOURNAL_LOST, 3)
            assert str(path) in caught.value.message
            assert "ostler journal rebuild" in caught.value.hint
        assert len(journal.read(TASK)) == 1, "the refused record is not read back"


@pytest.mark.parametrize("name", LOSSES)
def test_lost_ledger_is_refused(path: Path, name: str) -> None:
    """The check is part of each transaction of the file, not only of those of the journal."""
    SqliteJournal(path, create=True).close()
    ledger = SqliteStore(path).open_ledger()
    ledger.take_turn(("a", "b"), "a")
    LOSSES[name][0](path)
    with pytest.raises(StateError) as caught:
        ledger.take_turn(("a", "b"), "b")
    assert caught.value.code is Code.JOURNAL_LOST
    ledger.close()


FILLED = 200


def fill(journal: SqliteJournal) -> None:
    with journal.transaction():
        for seq in range(1, FILLED + 1):
            journal.append(make_record(seq), make_row(seq))


def truncate(path: Path) -> None:
    path.write_bytes(b"")


def overwrite_with_garbage(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(os.urandom(8192))


def restore_the_backup(path: Path) -> None:
    shutil.copy(path.with_name("backup.db"), path)


def restore_an_old_copy(path: Path) -> None:
    shutil.copy(path.with_name("old.db"), path)


def copy_another_project(path: Path) -> None:
    other = path.with_name("other.db")
    SqliteJournal(other, create=True).close()
    shutil.copy(other, path)


OVERWRITTEN = [
    truncate,
    overwrite_with_garbage,
    restore_the_backup,
    restore_an_old_copy,
    copy_another_project,
]


@pytest.mark.parametrize("overwrite", OVERWRITTEN)
def test_an_overwritten_journal_is_lost(path: Path, overwrite: Callable[[Path], None]) -> None:
    """The path and the file are the same, the content is not: each connection refuses it for ever."""
    with SqliteJournal(path, create=True) as journal:
        shutil.copy(path, path.with_name("old.db"))
        fill(journal)
    with SqliteJournal(path) as journal, SqliteJournal(path) as reader:
        journal.append(make_record(FILLED + 1), make_row(FILLED + 1))
        journal.copy_to(path.with_name("backup.db"))
        overwrite(path)
        for _ in range(2):
            with pytest.raises(StateError, match="was overwritten while it was open") as caught:
                journal.append(make_record(FILLED + 2), make_row(FILLED + 2))
            assert caught.value.code is Code.JOURNAL_LOST
        with pytest.raises(StateError, match="was overwritten while it was open"):
            reader.version()
        content = path.read_bytes()
    assert path.read_bytes() == content, "closing a lost journal wrote to the file"


def test_a_checkpoint_of_another_process_is_no_loss(path: Path) -> None:
    """It writes to the file that is open here; the next commits are checked again."""
    with SqliteJournal(path, create=True) as journal, SqliteJournal(path) as other:
        for seq in range(1, 8, 2):
            before = path.stat().st_mtime_ns
            time.sleep(0.01)  # longer than the resolution of the file's time
            assert other.append(make_record(seq), make_row(seq))
            other._db.run("PRAGMA wal_checkpoint(TRUNCATE)")
            assert path.stat().st_mtime_ns != before, "nothing was written"
            assert journal.append(make_record(seq + 1), make_row(seq + 1))
            journal.version()
        journal.set_home(journal.read_home(), Home("/elsewhere", "1"), "new-id")
        journal._db.run("PRAGMA wal_checkpoint(TRUNCATE)")
        assert journal.append(make_record(9), make_row(9))


@pytest.mark.parametrize("is_cached", [True, False])
def test_an_overwritten_journal_is_rescued_if_all_of_it_is_in_memory(
    path: Path, tmp_path: Path, is_cached: bool
) -> None:
    """The connection has read a small journal; of another one, a part would be that of the other file."""

    async def check() -> None:
        with SqliteJournal(path, create=True) as journal:
            fill(journal)
        writer = SqliteStore(path, rescue_in=(tmp_path / "view",)).open_writer()
        assert await writer.append(make_record(FILLED + 1), make_row(FILLED + 1))
        if not is_cached:
            await writer._submit(lambda journal: journal._db.run("PRAGMA cache_size = 1"))
            await writer._submit(lambda journal: journal._db.run("PRAGMA shrink_memory"))
        copy_another_project(path)
        with pytest.raises(StateError, match="was overwritten"):
            await writer.append(make_record(FILLED + 2), make_row(FILLED + 2))
        await writer.close()

    asyncio.run(check())
    rescued = list_rescues(tmp_path / "view")
    assert len(rescued) == is_cached
    for copy in rescued:
        with SqliteJournal(copy) as journal:
            assert [record.seq for record in journal.read(TASK)] == list(range(1, FILLED + 3))


def test_renamed_to_and_fro(path: Path) -> None:
    """The same file at the same path is the journal, whatever happened between two commits."""
    with SqliteJournal(path, create=True) as journal:
        path.rename(path.with_name("other"))
        path.with_name("other").rename(path)
        assert journal.append(make_record(1), make_row(1))


def test_closing_keeps_the_log_of_the_replacement(path: Path) -> None:
    """The last connection to a replaced file does not delete the log that the new file uses."""
    journal = SqliteJournal(path, create=True)
    assert journal.append(make_record(1), make_row(1))
    replace_by_a_copy(path)
    log = path.with_name("ostler.db-wal")
    assert log.exists()
    journal.close()
    assert log.exists()


def test_three_stats_per_commit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check costs one stat per file and commit, whatever the number of records, and none per read."""
    with SqliteJournal(path, create=True) as journal:
        stats = count_stats(monkeypatch, path.parent)
        for seq in (1, 2, 3):
            journal.append(make_record(seq), make_row(seq))
        assert len(stats) == 9
        with journal.transaction():
            for seq in (4, 5, 6):
                journal.append(make_record(seq), make_row(seq))
        assert len(stats) == 12
        journal.read(TASK)
        journal.rows()
        assert len(stats) == 12
        monkeypatch.undo()


def count_stats(monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[Path]:
    """Count in one folder: a thread of an earlier test may look at other files."""
    stats: list[Path] = []
    stat: Callable[..., os.stat_result] = Path.stat

    def counted(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if self.is_relative_to(folder):
            stats.append(self)
        return stat(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", counted)
    return stats


@pytest.mark.parametrize("name", LOSSES)
def test_what_cannot_be_recorded_is_rescued(path: Path, tmp_path: Path, name: str) -> None:
    """The copy has what was committed, the refused record, and those that follow it."""
    view = tmp_path / "view"

    async def check() -> None:
        writer = SqliteStore(path, rescue_in=(view,)).open_writer(create=True)
        assert await writer.append(make_record(1), make_row(1))
        LOSSES[name][0](path)
        for seq in (2, 3):
            with pytest.raises(StateError):
                await writer.append(make_record(seq), make_row(seq))
        await writer.close()

    asyncio.run(check())
    [rescued] = list_rescues(view)
    assert rescued.stat().st_mode & 0o777 == 0o600
    with SqliteJournal(rescued) as journal:
        assert [record.seq for record in journal.read(TASK)] == [1, 2, 3]


def test_nothing_is_rescued_into_a_deleted_project(path: Path, tmp_path: Path) -> None:
    """A project that was deleted as a whole is not created again."""
    view = tmp_path / "project" / ".ostler"

    async def check() -> None:
        writer = SqliteStore(path, rescue_in=(view,)).open_writer(create=True)
        path.unlink()
        with pytest.raises(StateError):
            await writer.append(make_record(1), make_row(1))
        await writer.close()

    asyncio.run(check())
    assert not view.parent.exists()


def test_a_journal_without_permission_is_not_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the path and the reason; later the journal is used as before, and closing never fails."""
    journal = SqliteJournal(path, create=True)
    with monkeypatch.context() as denied:
        deny(denied)
        for use in (journal.version, lambda: journal.append(make_record(1), make_row(1))):
            with pytest.raises(UsageError, match=f"{path} cannot be opened and written: permission denied"):
                use()
    assert journal.append(make_record(1), make_row(1))
    assert journal.version()
    deny(monkeypatch)
    journal.close()


def deny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the result is simulated."""

    def stat(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "stat", stat)


def test_no_run_starts_beside_a_rescued_journal(path: Path, tmp_path: Path) -> None:
    """Its records are not in the journal: the agents would be called again."""
    require_no_rescue(tmp_path)
    SqliteJournal(tmp_path / "rescue-1-2.db", create=True).close()
    with pytest.raises(StateError, match=r"rescue-1-2\.db has records that a run could not write") as caught:
        require_no_rescue(tmp_path)
    assert caught.value.code is Code.JOURNAL_LOST

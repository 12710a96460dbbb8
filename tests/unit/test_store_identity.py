"""A journal that was deleted, moved or replaced is noticed at the next commit, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from journal_values import TASK, make_record, make_row
from ostler.errors import Code, StateError
from ostler.store.recovery.rescue import list_rescues
from ostler.store.sqlite import SqliteJournal
from ostler.store.sqlite_ledger import SqliteLedger
from ostler.store.writer import GroupWriter


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


LOSSES = {
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
    ledger = SqliteLedger(path)
    ledger.take_turn(("a", "b"), "a")
    LOSSES[name][0](path)
    with pytest.raises(StateError) as caught:
        ledger.take_turn(("a", "b"), "b")
    assert caught.value.code is Code.JOURNAL_LOST
    ledger.close()


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


def test_one_stat_per_commit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check costs one stat per commit, also for many records in one commit, and none per read."""
    with SqliteJournal(path, create=True) as journal:
        stats = count_stats(monkeypatch)
        for seq in (1, 2, 3):
            journal.append(make_record(seq), make_row(seq))
        assert len(stats) == 3
        with journal.transaction():
            for seq in (4, 5, 6):
                journal.append(make_record(seq), make_row(seq))
        assert len(stats) == 4
        journal.read(TASK)
        journal.rows()
        assert len(stats) == 4
        monkeypatch.undo()


def count_stats(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    stats: list[Path] = []
    stat: Callable[..., os.stat_result] = Path.stat

    def counted(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        stats.append(self)
        return stat(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", counted)
    return stats


@pytest.mark.parametrize("name", LOSSES)
def test_what_cannot_be_recorded_is_rescued(path: Path, tmp_path: Path, name: str) -> None:
    """The copy has what was committed, the refused record, and those that follow it."""
    view = tmp_path / "view"

    async def check() -> None:
        writer = GroupWriter(path, create=True, rescue_in=(view,))
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
        writer = GroupWriter(path, create=True, rescue_in=(view,))
        path.unlink()
        with pytest.raises(StateError):
            await writer.append(make_record(1), make_row(1))
        await writer.close()

    asyncio.run(check())
    assert not view.parent.exists()

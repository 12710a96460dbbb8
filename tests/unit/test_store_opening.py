"""Opening the journal: created, checked, or refused without changing the file."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from journal_values import TASK, make_record, make_row
from ostler.errors import Code, StateError, UsageError
from ostler.store.sqlite import schema
from ostler.store.sqlite.journal import SqliteJournal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal with two hundred records, closed."""
    path = tmp_path / ".ostler" / "ostler.db"
    with SqliteJournal(path, create=True) as journal, journal.transaction():
        for seq in range(1, 201):
            assert journal.append(make_record(seq), make_row(seq))
    return path


def wal_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def crash_copy(path: Path, target: Path) -> Path:
    """The files as a crash leaves them: a log that was not checkpointed."""
    with SqliteJournal(path) as journal:
        for seq in range(201, 221):
            assert journal.append(make_record(seq), make_row(seq))
        target.mkdir()
        for name in (path.name, path.name + "-wal"):
            shutil.copy(path.with_name(name), target / name)
    return target / path.name


class TestMaking:
    def test_only_when_asked(self, tmp_path: Path) -> None:
        """Without a journal there is no project, and opening does not create one."""
        with pytest.raises(UsageError, match="no Ostler project here") as caught:
            SqliteJournal(tmp_path / ".ostler" / "ostler.db")
        assert (caught.value.hint, caught.value.exit) == ("ostler init", 2)
        assert list(tmp_path.iterdir()) == []

    def test_create_keeps_what_is_there(self, path: Path) -> None:
        """Creating over an existing journal opens it."""
        with SqliteJournal(path) as journal:
            known = journal.store_id
        with SqliteJournal(path, create=True) as journal:
            assert (journal.store_id, len(journal.read(TASK))) == (known, 200)

    def test_ids_differ(self, tmp_path: Path) -> None:
        """Two stores never have the same id."""
        ids = {SqliteJournal(tmp_path / name / "db", create=True).store_id for name in "ab"}
        assert len(ids) == 2

    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
    def test_private_whatever_the_umask(self, tmp_path: Path, umask: int) -> None:
        """The directory is 0700 and every file in it 0600, the log and its index too."""
        old = os.umask(umask)
        try:
            directory = tmp_path / "deep" / ".ostler"
            with SqliteJournal(directory / "ostler.db", create=True) as journal:
                journal.append(make_record(1), make_row(1))
                modes = {file.name: file.stat().st_mode & 0o777 for file in directory.iterdir()}
        finally:
            os.umask(old)
        assert modes == dict.fromkeys(("ostler.db", "ostler.db-wal", "ostler.db-shm"), 0o600)
        assert directory.stat().st_mode & 0o777 == 0o700

    def test_settings_of_the_connection(self, path: Path) -> None:
        """Write-ahead logging at FULL: anything less loses acknowledged commits at a power cut."""
        with SqliteJournal(path) as journal:
            assert journal._db.connection.pragma("synchronous") == 2
            assert journal._db.connection.pragma("journal_mode") == "wal"
            assert tuple(map(int, apsw.sqlite_lib_version().split("."))) >= (3, 51, 3)


def flip_header(path: Path) -> None:
    _overwrite(path, 3, b"\xff\xff")


def flip_schema(path: Path) -> None:
    for found in re.finditer(b"CREATE TABLE feed", path.read_bytes()):  # also what a split page has left
        _overwrite(path, found.start(), b"CREATE TABLE f\xffed")


def flip_pages(path: Path) -> None:
    for offset in range(4096, path.stat().st_size, 4096):
        _overwrite(path, offset, b"\xff" * 64)


def flip_one_page(path: Path) -> None:
    _overwrite(path, path.stat().st_size - 4096, b"\xff" * 8)


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def cut_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def cut_in_header(path: Path) -> None:
    os.truncate(path, 60)


def fill_with_garbage(path: Path) -> None:
    path.write_bytes(os.urandom(20_000))


def zero_all(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def swap_for_another_program(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE feed (x)")
    other.close()


def swap_for_other_tables(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (x)")
    other.close()


def drop_a_table(path: Path) -> None:
    apsw.Connection(str(path)).execute("DROP TABLE identity")


DAMAGES = [
    flip_header,
    flip_schema,
    flip_pages,
    flip_one_page,
    cut_in_half,
    cut_to_nothing,
    cut_in_header,
    fill_with_garbage,
    zero_all,
    swap_for_another_program,
    swap_for_other_tables,
    drop_a_table,
]


def _overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


class TestDamage:
    @pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
    @pytest.mark.parametrize("create", [False, True])
    def test_refused_and_kept(self, path: Path, damage: Callable[[Path], None], create: bool) -> None:
        """A damaged file is never opened, never replaced and never changed."""
        damage(path)
        before = path.read_bytes()
        with pytest.raises(StateError, match="the file is kept") as caught:
            SqliteJournal(path, create=create)
        assert (caught.value.code, caught.value.exit) == (Code.STATE_CORRUPT, 2)
        assert "backup" in caught.value.hint
        assert path.read_bytes() == before

    def test_crash_leaves_nothing_lost(self, path: Path, tmp_path: Path) -> None:
        """A log that a crash left behind is read: the base for the tests that damage it."""
        with SqliteJournal(crash_copy(path, tmp_path / "crashed")) as journal:
            assert len(journal.read(TASK)) == 220

    @pytest.mark.parametrize("spoil", ["zero", "flip magic", "flip salt", "garbage"])
    def test_spoiled_log(self, path: Path, tmp_path: Path, spoil: str) -> None:
        """SQLite would take a damaged log for an empty one and lose acknowledged writes; it is refused."""
        crashed = crash_copy(path, tmp_path / "crashed")
        wal = wal_of(crashed)
        match spoil:
            case "zero":
                wal.write_bytes(bytes(wal.stat().st_size))
            case "flip magic":
                _overwrite(wal, 0, b"\0")
            case "flip salt":
                _overwrite(wal, 17, b"\xaa\x55\xaa")
            case _:
                wal.write_bytes(os.urandom(9000))
        before = (crashed.read_bytes(), wal.read_bytes())
        with pytest.raises(StateError, match="spoiled") as caught:
            SqliteJournal(crashed)
        assert caught.value.code is Code.STATE_CORRUPT
        assert (crashed.read_bytes(), wal.read_bytes()) == before

    def test_unused_log_is_fine(self, path: Path) -> None:
        """A log that was created and never written is not damage."""
        wal_of(path).touch()
        with SqliteJournal(path) as journal:
            assert len(journal.read(TASK)) == 200

    def test_large_file_is_not_read_whole(self, path: Path) -> None:
        """Above the limit damage is reported when it is read, not when the file is opened."""
        with SqliteJournal(path, create=True) as journal:
            root = journal._db.connection.execute(
                "SELECT rootpage FROM sqlite_schema WHERE name = 'feed'"
            ).fetchall()[0][0]
        _overwrite(path, (root - 1) * 4096, b"\xff" * 64)  # pyright: ignore
        with SqliteJournal(path, check_up_to=0) as journal, pytest.raises(StateError) as caught:
            journal.read(TASK)
        assert caught.value.code is Code.STATE_CORRUPT


class TestVersions:
    def test_newer_is_refused_with_both_versions(self, path: Path) -> None:
        """A journal of a newer Ostler is not changed."""
        apsw.Connection(str(path)).pragma("user_version", 99)
        with pytest.raises(StateError, match=rf"version 99.*up to {schema.newest_version()}") as caught:
            SqliteJournal(path)
        assert (caught.value.code, caught.value.exit) == (Code.STATE_VERSION, 2)

    def test_older_is_migrated(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An older journal is migrated, and its content kept."""
        more = (
            "CREATE TABLE extra (x); INSERT INTO extra VALUES (7); SELECT 1; INSERT INTO extra VALUES (8)",
        )
        monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS + more)
        with SqliteJournal(path) as journal:
            assert journal._db.connection.execute("SELECT x FROM extra").fetchall() == [(7,), (8,)]
            assert len(journal.read(TASK)) == 200
            assert journal._db.connection.pragma("user_version") == schema.newest_version()

    def test_failed_migration_changes_nothing(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A migration is complete or rolled back."""
        released = schema.newest_version()
        more = ("CREATE TABLE extra (x)", "CREATE TABLE extra (y)")
        monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS + more)
        with pytest.raises(StateError):
            SqliteJournal(path)
        monkeypatch.undo()
        with SqliteJournal(path) as journal:
            assert journal._db.connection.pragma("user_version") == released
            assert not journal._db.connection.table_exists(None, "extra")


class TestPlaces:
    def test_directory_in_its_place(self, tmp_path: Path) -> None:
        """The error names a path that cannot be a file."""
        with pytest.raises(UsageError, match=str(tmp_path)) as caught:
            SqliteJournal(tmp_path)
        assert caught.value.exit == 2

    def test_parent_is_a_file(self, tmp_path: Path) -> None:
        """A journal cannot be created below a file; the error names the path."""
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match=str(tmp_path / "file")) as caught:
            SqliteJournal(tmp_path / "file" / "ostler.db", create=True)
        assert caught.value.exit == 2

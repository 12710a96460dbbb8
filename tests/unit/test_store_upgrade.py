"""The upgrade of an older journal: new names in every row, a backup first, all or nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from msgspec.structs import replace

from journal_values import TASK, make_attempt
from ostler.engine.core.evolve import begin, evolve
from ostler.errors import Code, OstlerError, StateError
from ostler.files.failpoint import arm
from ostler.files.lock import try_lock
from ostler.model.attempt import Attempt
from ostler.model.event import DecisionRecorded, Event, Record, TaskClaimed, TaskCreated
from ostler.model.notice import Notice, WaitEnded
from ostler.model.plan import Gate, Phase, Plan, Strategy, build_plan
from ostler.model.policy.remote import Remote
from ostler.model.rows import build_row, decode_state
from ostler.model.state import Ending, GateState, PhaseState, State
from ostler.model.task import Input, Output, PipelineMember, Task
from ostler.model.usage import Usage
from ostler.notify.message import Message
from ostler.store.sqlite import renames, schema
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore

# An older version that had other names for a few of the present ones. Keys are old names.
TAGS = {"task_taken": "task_claimed", "pause_over": "wait_ended"}
FIELDS = {
    "task_taken": {"taker": "run"},
    "pause_over": {"why": "reason"},
    "state": {"headline": "title"},
    "phase_state": {"loops": "iterations"},
    "plan": {"stages": "phases"},
    "attempt": {"runner": "owner"},
    "usage": {"tokens_in": "input_tokens"},
}
VALUES = {"state": {"status": {"waiting": "in_progress"}}, "decision_recorded": {"verb": {"go": "resume"}}}
STEPS = {"begin": "prepare"}
READERS = {"notifier": "notify"}
NESTED = {"plan": {"stages": "phase", "merge_gate": "gate"}}
RELEASED = 5
STRUCTS: dict[str, type[msgspec.Struct]] = {
    "state": State,
    "phase_state": PhaseState,
    "gate_state": GateState,
    "ending": Ending,
    "attempt": Attempt,
    "usage": Usage,
    "remote": Remote,
    "task": Task,
    "input": Input,
    "output": Output,
    "part": PipelineMember,
    "plan": Plan,
    "phase": Phase,
    "gate": Gate,
    "strategy": Strategy,
    "notification": Message,
}


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables as if the names above had been replaced."""
    monkeypatch.setattr(renames, "RENAMED_TAGS", TAGS)
    monkeypatch.setattr(renames, "RENAMED_FIELDS", FIELDS)
    monkeypatch.setattr(renames, "RENAMED_VALUES", VALUES)
    monkeypatch.setattr(renames, "RENAMED_STEPS", STEPS)
    monkeypatch.setattr(renames, "RENAMED_READERS", READERS)
    monkeypatch.setattr(renames, "NESTED", renames.NESTED | NESTED)


@pytest.fixture
def present(tmp_path: Path) -> Path:
    """A journal that the present version wrote."""
    path = tmp_path / ".ostler" / "ostler.db"
    created = TaskCreated(Task("Greet", id=TASK), build_plan("small"), 1, "seed")
    record = Record(TASK, 1, 1.0, created)
    state = begin(record)
    with SqliteJournal(path, create=True) as journal:
        journal.append(record, build_row(state))
        for seq, event in enumerate((TaskClaimed("me"), DecisionRecorded("resume", "Continue.")), 2):
            step = f"{TASK}/1.1/prepare" if seq == 2 else ""
            record = Record(TASK, seq, float(seq), event, step)
            state = evolve(state, record)
            journal.append(record, build_row(state), [WaitEnded("a free slot")])
        journal.begin_attempt(replace(make_attempt(), step=f"{TASK}/1.1/prepare"))
    with SqliteStore(path).open_outbox() as outbox:
        outbox.register(["notify"], [])
    db = apsw.Connection(str(path))
    db.execute("UPDATE task SET status_since = updated_at").fetchall()  # an upgrade has nothing better
    db.close()
    return path


@pytest.fixture
def written(present: Path) -> dict[str, list[Any]]:
    """The rows as the present version wrote them."""
    return rows(present)


@pytest.fixture
def old(present: Path, written: dict[str, list[Any]]) -> Path:
    """The same journal as an older version would have written it."""
    write_old_names(present)
    return present


def write_old_names(path: Path) -> None:
    """Undo the renames of the example by text, without the code under test."""
    db = apsw.Connection(str(path))
    for table, column, changes in (
        ("feed", "body", {'"task_claimed","run"': '"task_taken","taker"', '"verb":"resume"': '"verb":"go"'}),
        ("feed", "body", {'"wait_ended","reason"': '"pause_over","why"'}),
        ("feed", "body", {'"plan":{"phases"': '"plan":{"stages"'}),
        ("feed", "type", {"task_claimed": "task_taken", "wait_ended": "pause_over"}),
        ("feed", "step", {"/prepare": "/begin"}),
        ("task", "state", {'"title"': '"headline"', '"plan":{"phases"': '"plan":{"stages"'}),
        ("task", "state", {'"status":"in_progress"': '"status":"waiting"'}),
        ("task", "status", {"in_progress": "waiting"}),
        ("attempt", "body", {'"owner"': '"runner"', "/prepare": "/begin", '"input_tokens"': '"tokens_in"'}),
        ("reader", "name", {"notify": "notifier"}),
    ):
        for new, before in changes.items():
            text = f"replace(CAST({column} AS TEXT), ?, ?)"
            value = f"CAST({text} AS BLOB)" if column in ("body", "state") else text
            db.execute(f"UPDATE {table} SET {column} = {value}", (new, before))
            assert db.changes(), (table, column)
    db.execute("DROP TRIGGER refuse_older_writers; ALTER TABLE feed DROP COLUMN version").fetchall()
    db.execute("DROP TABLE gate_control; DROP TABLE gate_acceptance").fetchall()
    reviews = ("review", "review_draft", "review_resolved", "review_viewed")
    db.execute("; ".join(f"DROP TABLE {name}" for name in reviews)).fetchall()
    db.execute("CREATE TABLE limit_window (provider TEXT)").fetchall()
    db.execute("DROP TABLE model_turn; DROP TABLE retry_report").fetchall()
    db.execute("ALTER TABLE identity DROP COLUMN home; ALTER TABLE identity DROP COLUMN file").fetchall()
    counts = ("added", "removed", "changed")
    db.execute("; ".join(f"DROP TRIGGER count_{name}" for name in counts)).fetchall()
    db.execute("DROP TABLE task_count; DROP INDEX queued_tasks; DROP INDEX dependent_tasks").fetchall()
    db.execute("DROP INDEX listed_tasks; DROP INDEX inbox; ALTER TABLE task DROP COLUMN need").fetchall()
    db.execute("ALTER TABLE task DROP COLUMN status_since").fetchall()
    db.execute("ALTER TABLE task DROP COLUMN queued_at").fetchall()
    db.execute("ALTER TABLE task DROP COLUMN archived_at").fetchall()
    db.execute("CREATE INDEX listed_tasks ON task (updated_at, id)").fetchall()
    db.pragma("user_version", RELEASED)
    db.close()


def rows(path: Path) -> dict[str, list[Any]]:
    """Everything in the tables that hold names."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    tables = ("feed", "task", "attempt", "reader")
    found = {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
    found["feed"] = [row[:8] for row in found["feed"]]  # without the version that wrote it
    db.close()
    return found


def version(path: Path) -> int:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    found = db.pragma("user_version")
    db.close()
    return found


def backup_of(path: Path) -> Path:
    return path.with_name("ostler.db.v5.bak")


def upgrade_in_child(path: Path, failpoint: str = "") -> subprocess.Popen[str]:
    """Another process that opens the journal with the tables of the example."""
    here = Path(__file__).parent
    code = (
        "import sys, pathlib; sys.path[:0] = sys.argv[2:]; import pytest, test_store_upgrade as t\n"
        "t.example.__wrapped__(pytest.MonkeyPatch()); from ostler.store.sqlite.journal import SqliteJournal\n"
        "print(SqliteJournal(pathlib.Path(sys.argv[1])).backup)"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path), str(here), str(here.parent / "support")],
        env=os.environ | {"OSTLER_FAILPOINT": failpoint},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.usefixtures("example")
class TestNames:
    def test_every_row_gets_its_present_names(self, old: Path, written: dict[str, list[Any]]) -> None:
        """The rows are byte for byte those that the present version wrote."""
        before = rows(old)
        assert all(before[table] != written[table] for table in written)
        with SqliteJournal(old) as journal:
            assert decode_state(journal.rows()[0]).title == "Greet"
            assert isinstance(journal.read(TASK)[1].event, TaskClaimed)
        assert rows(old) == written
        assert version(old) == schema.newest_version()

    def test_a_row_that_is_no_json_is_left(self, old: Path) -> None:
        db = apsw.Connection(str(old))
        db.execute("UPDATE feed SET body = x'7b' WHERE type = 'pause_over'")
        db.close()
        with SqliteJournal(old) as journal:
            assert bytes(journal.feed()[2].body) == b"{"

    def test_a_row_that_cannot_be_read_with_its_new_names_stops_the_upgrade(
        self, old: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing is changed, and the backup is there."""
        monkeypatch.setattr(renames, "RENAMED_FIELDS", FIELDS | {"state": {"title": "headline"}})
        before = rows(old)
        with pytest.raises(StateError, match="cannot be upgraded: the state of") as caught:
            SqliteJournal(old)
        assert caught.value.code is Code.STATE_CORRUPT
        assert (rows(old), version(old)) == (before, RELEASED)
        assert rows(backup_of(old)) == before

    def test_a_tag_that_is_replaced_by_an_unknown_one_stops_the_upgrade(
        self, old: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(renames, "RENAMED_TAGS", TAGS | {"task_taken": "task_seized"})
        with pytest.raises(StateError, match="task_seized, which is not an event"):
            SqliteJournal(old)
        assert version(old) == RELEASED


@pytest.mark.usefixtures("example")
class TestBackup:
    def test_it_is_the_old_journal_private_and_alone(self, old: Path) -> None:
        before = rows(old)
        with SqliteJournal(old) as journal:
            assert journal.backup == backup_of(old)
        names = {path.name for path in old.parent.iterdir()}
        assert names == {"ostler.db", "ostler.db.upgrade", "ostler.db.v5.bak"}
        assert backup_of(old).stat().st_mode & 0o777 == 0o600
        assert (rows(backup_of(old)), version(backup_of(old))) == (before, RELEASED)

    def test_the_second_opening_makes_none(self, old: Path) -> None:
        SqliteJournal(old).close()
        backup_of(old).unlink()
        with SqliteJournal(old) as journal:
            assert journal.backup is None
        assert not backup_of(old).exists()

    def test_a_new_journal_has_none(self, tmp_path: Path) -> None:
        with SqliteJournal(tmp_path / "new" / "ostler.db", create=True) as journal:
            assert journal.backup is None
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["ostler.db"]

    def test_it_can_be_put_back(self, old: Path) -> None:
        SqliteJournal(old).close()
        backup_of(old).replace(old)
        with SqliteJournal(old) as journal:
            assert journal.backup == backup_of(old)
            assert len(journal.read(TASK)) == 3

    def test_without_room_for_it_nothing_is_changed(self, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = rows(old)
        arm("store.backup:enospc")
        try:
            with pytest.raises(OstlerError) as caught:
                SqliteJournal(old)
        finally:
            arm("")
        assert caught.value.code is Code.DISK_FULL
        assert (rows(old), version(old)) == (before, RELEASED)
        assert not backup_of(old).exists() and not list(old.parent.glob(".*.tmp"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("point", ["store.backup", "store.backed_up", "store.migrate"])
def test_kill_leaves_the_old_journal(
    old: Path, written: dict[str, list[Any]], example: None, point: str
) -> None:
    """SIGKILL before the commit; the next process upgrades it."""
    before = rows(old)
    assert upgrade_in_child(old, f"{point}:kill").wait(60) == -signal.SIGKILL
    assert (rows(old), version(old)) == (before, RELEASED)
    assert upgrade_in_child(old).wait(60) == 0
    assert (rows(old), version(old)) == (written, schema.newest_version())
    assert rows(backup_of(old)) == before


def test_two_processes_upgrade_once(old: Path, written: dict[str, list[Any]]) -> None:
    """Both open the journal; one of them made the backup."""
    children = [upgrade_in_child(old) for _ in range(4)]
    printed = [child.communicate(timeout=60)[0].strip() for child in children]
    assert [child.returncode for child in children] == [0] * 4
    assert sorted(printed) == sorted([str(backup_of(old)), "None", "None", "None"])
    assert rows(old) == written


@pytest.mark.parametrize("folder", ["runs", "locks"])
def test_a_journal_that_a_run_uses_is_not_upgraded(old: Path, folder: str) -> None:
    """The run could not record its results; when it has ended, the upgrade is made."""
    (old.parent / folder).mkdir()
    held = try_lock(old.parent / folder / "one")
    assert held is not None
    with pytest.raises(StateError, match="another Ostler process is running tasks") as caught:
        SqliteJournal(old, busy_timeout_seconds=0.2)
    assert caught.value.code is Code.STATE_BUSY
    assert (version(old), backup_of(old).exists()) == (RELEASED, False)
    held.release()
    SqliteJournal(old).close()
    assert version(old) == schema.newest_version()


def test_an_older_process_that_has_it_open_cannot_write(old: Path) -> None:
    """It still reads; its insert, as version 5 made it, is refused with a sentence."""
    older = apsw.Connection(str(old))
    insert = "INSERT INTO feed (task, at, type, step, basis, body) VALUES ('a-b', 1, 'x', '', 0, '{}')"
    older.execute(insert)
    SqliteJournal(old).close()
    assert older.execute("SELECT count(*) FROM feed").fetchall() == [(7,)]
    with pytest.raises(apsw.ConstraintError, match="a newer Ostler has upgraded this journal"):
        older.execute(insert)
    older.close()
    with SqliteJournal(old) as journal:
        assert journal.position() == 7


def test_what_is_written_while_the_upgrade_waits_is_in_the_backup(old: Path) -> None:
    """An older process ends its transaction; the backup and the new journal have what it wrote."""
    older = apsw.Connection(str(old))
    older.execute("BEGIN IMMEDIATE; UPDATE identity SET store_id = 'changed'").fetchall()
    child = upgrade_in_child(old)
    time.sleep(0.5)
    older.execute("COMMIT").fetchall()
    older.close()
    assert child.wait(60) == 0
    for path in (old, backup_of(old)):
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        assert db.execute("SELECT store_id FROM identity").fetchall() == [("changed",)]
        db.close()


class TestTables:
    """The tables of renames.py fit the present structs."""

    def test_the_check_finds_mistakes(self, example: None, monkeypatch: pytest.MonkeyPatch) -> None:
        assert mistakes() == []
        monkeypatch.setattr(renames, "RENAMED_TAGS", {"task_claimed": "task_claimed", "x": "y"})
        monkeypatch.setattr(
            renames, "RENAMED_FIELDS", {"state": {"title": "headline"}, "nothing": {"a": "b"}}
        )
        assert len(mistakes()) == 5, mistakes()

    def test_the_real_tables_have_none(self) -> None:
        assert mistakes() == []


def mistakes() -> list[str]:
    """Return the rows that do not fit the structs of this version."""
    structs = {str(kind.__struct_config__.tag): kind for kind in (*Event.__args__, *Notice.__args__)}
    found = [f"{old} is still a tag" for old in renames.RENAMED_TAGS if old in structs]
    found += [f"{new} is no tag" for new in renames.RENAMED_TAGS.values() if new not in structs]
    for name, fields in renames.RENAMED_FIELDS.items():
        struct = structs.get(renames.RENAMED_TAGS.get(name, name)) or STRUCTS.get(name)
        if struct is None:
            found.append(f"{name} is no struct")
            continue
        known = {field.encode_name for field in msgspec.structs.fields(struct)}
        found += [f"{name}.{old} is still a field" for old in fields if old in known]
        found += [f"{name}.{new} is no field" for new in fields.values() if new not in known]
    return found

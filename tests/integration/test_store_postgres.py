"""What only the store in PostgreSQL has: its tables, its errors, and the copy of a project from SQLite."""

from __future__ import annotations

import time
from pathlib import Path

import apsw
import psycopg
import pytest
from msgspec.structs import replace
from servers.postgres import PostgresServer

from journal_values import TASK, make_attempt, make_record, make_row
from ostler.errors import Code, OstlerError
from ostler.model.ids import TaskId
from ostler.model.notice import AgentWarned
from ostler.project.project import Project
from ostler.project.running.schedules import add_scheduled_tasks, find_schedules
from ostler.store.listing import TaskFilter
from ostler.store.outbox import OutboxMessage
from ostler.store.postgres import schema
from ostler.store.postgres.address import Address, parse_address
from ostler.store.postgres.connection import Connection
from ostler.store.postgres.copy import Copied, copy_journal
from ostler.store.postgres.store import PostgresStore
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.schema import newest_version as newest_sqlite_version
from ostler.store.sqlite.store import SqliteStore
from postgres_world import new_address, new_store


def list_columns(server: PostgresServer, address: Address) -> dict[str, set[str]]:
    found = server.execute(
        "SELECT table_name, column_name FROM information_schema.columns"
        f" WHERE table_schema = '{address.schema}'"
    )
    return {str(table): {str(column) for of, column in found if of == table} for table, _ in found}


def test_versions_have_the_same_tables(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """The newest version has the same number as in SQLite, and every table the same columns."""
    assert schema.newest_version() == newest_sqlite_version()
    store = new_store(postgres_server)
    SqliteJournal(tmp_path / "ostler.db", create=True).close()
    db = apsw.Connection(str(tmp_path / "ostler.db"))
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    columns = {
        name: {column for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", [name])}
        for name in names
        if not name.startswith("sqlite_") and name != "identity"
    }
    found = list_columns(postgres_server, store.address)
    assert {name: found[name] for name in columns} == columns
    # Triggers count the tasks that are copied.
    assert set(columns) - {"task_count"} == set(schema.COPIED)
    assert set(found) - set(columns) == {"identity", "migration", "writer"}


def find_code(call: object) -> tuple[Code, str]:
    with pytest.raises(OstlerError) as caught:
        call()  # pyright: ignore[reportCallIssue]
    assert "hunter2" not in caught.value.message + caught.value.hint
    return caught.value.code, caught.value.message


@pytest.mark.full
def test_errors_say_what_is_wrong(postgres_server: PostgresServer) -> None:
    """One sentence each, without the password."""
    here = f"{postgres_server.host}:{postgres_server.port}"

    def open_url(url: str) -> object:
        return PostgresStore(parse_address(url, "nowhere")).open_journal()

    closed = "postgresql://ostler:hunter2@127.0.0.1:1/postgres"
    code, message = find_code(lambda: open_url(closed))
    assert (code, message) == (
        Code.STORE_UNAVAILABLE,
        "the database 127.0.0.1:1/postgres cannot be used: Connection refused",
    )
    code, message = find_code(lambda: open_url(f"postgresql://ostler:hunter2@{here}/missing"))
    assert (code, message) == (
        Code.USAGE,
        f'the database {here}/missing refused the connection: database "missing" does not exist',
    )
    code, message = find_code(lambda: open_url(f"postgresql://ostler:hunter2@{here}/postgres"))
    assert (code, message) == (
        Code.USAGE,
        f"no Ostler project in the schema nowhere of the database {here}/postgres",
    )
    code, message = find_code(lambda: open_url("postgresql://ostler:hunter2/x@y:z/w"))
    assert (code, message) == (Code.USAGE, "store.url is not a valid PostgreSQL URL")


def test_a_user_without_privileges_is_refused(postgres_server: PostgresServer) -> None:
    """Creating the tables needs a schema of the user, or the privilege to create one."""
    postgres_server.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    url = postgres_server.url().replace("ostler@", "guest@")
    code, message = find_code(lambda: PostgresStore(parse_address(url, "of_guest")).open_journal(create=True))
    assert code is Code.USAGE
    assert "permission denied for database postgres" in message


def test_replaced_tables_are_a_lost_journal(postgres_server: PostgresServer) -> None:
    """Deleted tables, those of another project, and an older state of the same one end a run."""
    store = new_store(postgres_server)
    name = store.address.schema
    with store.open_journal() as journal:
        assert journal.append(make_record(1), make_row(1))
        journal.version()
        postgres_server.execute(f"UPDATE {name}.identity SET changes = 0")
        assert "earlier state" in find_code(lambda: journal.append(make_record(2), make_row(2)))[1]
    with store.open_journal() as journal:
        postgres_server.execute(f"UPDATE {name}.identity SET store_id = 'other'")
        assert find_code(journal.version)[0] is Code.JOURNAL_LOST
        assert find_code(lambda: journal.append(make_record(2), make_row(2)))[0] is Code.JOURNAL_LOST
    with store.open_journal() as journal:
        postgres_server.execute(f"DROP SCHEMA {name} CASCADE")
        assert find_code(journal.version)[0] is Code.JOURNAL_LOST
        assert find_code(lambda: journal.append(make_record(2), make_row(2)))[0] is Code.JOURNAL_LOST


def test_newer_tables(postgres_server: PostgresServer) -> None:
    """An older program works as long as the tables permit it; then it is refused, also while it runs."""
    store, newer = new_store(postgres_server), schema.newest_version() + 1
    table = f"{store.address.schema}.migration"
    with store.open_journal() as journal:
        postgres_server.execute(f"INSERT INTO {table} VALUES ({newer}, {newer - 1})")
        assert journal.append(make_record(1), make_row(1))
        store.open_journal().close()
        postgres_server.execute(f"INSERT INTO {table} VALUES ({newer + 1}, {newer})")
        assert find_code(lambda: journal.append(make_record(2), make_row(2)))[0] is Code.STATE_VERSION
    assert find_code(store.open_journal)[0] is Code.STATE_VERSION


def test_a_program_that_leaves_columns_outdated_is_refused(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of version 14 does not write what a task needs from a person: the inbox would lack its tasks."""
    older = tuple(one for one in schema.MIGRATIONS if one.version <= 14)
    store = PostgresStore(new_address(postgres_server))
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", older)
        journal = store.open_journal(create=True)
    store.open_journal().close()
    monkeypatch.setattr(schema, "MIGRATIONS", older)
    assert find_code(lambda: journal.append(make_record(1), make_row(1)))[0] is Code.STATE_VERSION
    journal.close()


def test_a_migration_is_applied_once(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening older tables brings them to the newest version, with its number."""
    store = new_store(postgres_server)
    number = schema.newest_version() + 1
    step = schema.Migration(number, number - 1, "ALTER TABLE task ADD COLUMN more TEXT")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    for _ in range(2):
        store.open_journal().close()
    found = postgres_server.execute(
        f"SELECT version, works_with FROM {store.address.schema}.migration ORDER BY version"
    )
    assert found[-1] == (number, number - 1)
    assert "more" in list_columns(postgres_server, store.address)["task"]


def test_text_that_the_server_does_not_accept(postgres_server: PostgresServer) -> None:
    """NUL characters are replaced; other unusual text is kept."""
    with new_store(postgres_server).open_journal() as journal:
        task = TaskId("caf\u00e9")
        row = make_row(1, task)
        assert journal.append(make_record(1, task), row)
        journal.notify(task, 1.0, [AgentWarned("a\0b \U0010ffff")])
        assert b"a\\u0000b" in bytes(journal.feed()[-1].body)
        assert journal.find("caf") == [task]


def test_tasks_are_found_whatever_the_locale_of_the_server(postgres_server: PostgresServer) -> None:
    """Only the letters of ASCII are the same in both cases, as in SQLite."""
    postgres_server.execute("CREATE DATABASE other_locale TEMPLATE template0 LOCALE 'C.UTF-8'")
    assert postgres_server.execute("SELECT lower('Ä')", "other_locale") == [("ä",)]
    store = PostgresStore(parse_address(postgres_server.url("other_locale"), "ostler"))
    with store.open_journal(create=True) as journal:
        journal.append(make_record(1), replace(make_row(1), title="Ärger mit Umlauten"))
        texts = ("Ärger", "MIT uml", "ärger")
        assert [journal.listing.total(TaskFilter(text=text)) for text in texts] == [1, 1, 0]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A journal with something in most tables; the last positions were used by lines that are gone."""
    path = tmp_path / "ostler.db"
    with SqliteJournal(path, create=True) as journal:
        for seq in (1, 2):
            assert journal.append(make_record(seq), make_row(seq))
        journal.begin_attempt(make_attempt())
    store = SqliteStore(path)
    ledger = store.open_ledger()
    ledger.record_failure("sonnet", Code.TIMEOUT, "a\0b", 1000.0, 1, 600)
    ledger.close()
    with store.open_outbox() as outbox:
        outbox.register(["notify"], ["hook"])
        end = outbox.position("notify") or 0
        assert outbox.advance("notify", end, 2, [OutboxMessage(2, "hook", b"{}", 10.0)])
    db = apsw.Connection(str(path))
    db.execute("UPDATE sqlite_sequence SET seq = 40 WHERE name = 'feed'")
    db.close()
    return path


def test_a_project_is_copied(project: Path, postgres_server: PostgresServer) -> None:
    """Rows, positions and the id are the same, the next line gets a new position; again changes nothing."""
    address = new_address(postgres_server)
    assert copy_journal(project, address) == Copied(1, 3, 40)
    store = PostgresStore(address)
    with SqliteJournal(project) as old, store.open_journal() as new:
        assert new.store_id == old.store_id
        assert (new.rows(), new.feed(), new.attempts(TASK)) == (old.rows(), old.feed(), old.attempts(TASK))
        assert new.append(make_record(3), make_row(3))
        assert new.position() == 41
    with store.open_outbox() as outbox:
        assert outbox.position("notify") == 2
        assert [one.target for one in outbox.messages()] == ["hook"]
    assert copy_journal(project, address).was_complete


def test_a_copy_is_complete_or_not_there(
    project: Path, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that fails at its end leaves nothing, and can be repeated."""
    address = new_address(postgres_server)

    def fail(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ostler.store.postgres.copy.reach", fail)
    with pytest.raises(KeyboardInterrupt):
        copy_journal(project, address)
    assert find_code(PostgresStore(address).open_journal)[0] is Code.USAGE
    monkeypatch.undo()
    assert copy_journal(project, address).lines == 3


def test_a_copy_is_refused_where_tasks_are(project: Path, postgres_server: PostgresServer) -> None:
    """An empty project is filled, one with tasks is not touched."""
    store = new_store(postgres_server)
    assert copy_journal(project, store.address).tasks == 1
    other = new_store(postgres_server)
    with other.open_journal() as journal:
        assert journal.append(make_record(1), make_row(1))
        code, message = find_code(lambda: copy_journal(project, other.address))
        assert (code, "already has tasks of another project" in message) == (Code.USAGE, True)
        assert journal.position() == 1


def test_a_file_that_was_used_after_its_copy(project: Path, postgres_server: PostgresServer) -> None:
    """A second copy does not say that all of it is on the server, also when both have the same positions."""
    store = PostgresStore(new_address(postgres_server))
    copy_journal(project, store.address)
    with store.open_journal() as journal:
        assert journal.append(make_record(3), make_row(3))
    assert copy_journal(project, store.address).was_complete
    with SqliteJournal(project) as journal:
        journal.notify(TASK, 1.0, [AgentWarned("new")])
    code, message = find_code(lambda: copy_journal(project, store.address))
    assert (code, message.endswith("before, and has changed since")) == (Code.USAGE, True)


def test_a_transaction_that_writes_nothing_wakes_nobody(postgres_server: PostgresServer) -> None:
    """The version changes with each commit that wrote, and only then."""
    with new_store(postgres_server).open_journal() as journal:
        before = journal.version()
        assert journal.append(make_record(1), make_row(1))
        assert journal.version() == before + 1
        assert not journal.append(make_record(1), make_row(1))
        assert journal.version() == before + 1


def break_commit(monkeypatch: pytest.MonkeyPatch, *, arrives: bool) -> list[str]:
    """Break the connection at the next commit; return what was sent then."""
    run_script, cut = Connection.run_script, list[str]()

    def break_first_commit(self: Connection, sql: str) -> object:
        if not sql.endswith("COMMIT") or cut:
            return run_script(self, sql)
        cut.append(sql)
        if arrives:
            run_script(self, sql)
        self.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(Connection, "run_script", break_first_commit)
    return cut


@pytest.mark.parametrize("arrives", [True, False])
def test_a_commit_without_an_answer(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    """The server is asked whether it has made the commit; the transaction is repeated only if not."""
    with new_store(postgres_server).open_journal() as journal:
        cut = break_commit(monkeypatch, arrives=arrives)
        assert journal.append(make_record(1), make_row(1))
        assert cut and len(journal.feed()) == 1


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize("kind", ["task", "pipeline"])
def test_a_schedule_is_not_lost_with_its_transaction(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, arrives: bool
) -> None:
    """The connection breaks in the minute of the schedule: its tasks are added once."""
    files = {
        ".agents/tasks/tidy.md": '---\ntitle: Tidy up\nschedule: "0 6 * * 1"\n---\n\nAll of it.\n',
        ".agents/skills/copy/SKILL.md": "---\nname: copy\ndescription: copy\n---\nYou write copy.\n",
        ".agents/pipelines/weekly.yaml": 'name: w\nschedule: "0 6 * * 1"\ngoal: Sell hay\nsteps:\n  - copy\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    with Project.open(tmp_path, {"OSTLER_STORE__URL": postgres_url}, create=True) as project:
        (scheduled,) = [one for one in find_schedules(tmp_path)[0] if one.kind == kind]
        cut = break_commit(monkeypatch, arrives=arrives)
        added = add_scheduled_tasks(project, scheduled, 1.7e9)
        assert cut and len(added) == 1 and [row.id for row in project.journal.rows()] == added


def test_a_stopped_writer_does_not_keep_the_lock(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server rolls back a transaction that does nothing for too long; its writer repeats it."""
    monkeypatch.setattr("ostler.store.postgres.connection.IDLE_SECONDS", 0.2)
    store = new_store(postgres_server)
    with store.open_journal(wait_seconds=10) as slow, store.open_journal(wait_seconds=10) as other:
        tries: list[int] = []

        def write() -> None:
            with slow.transaction():
                if not tries:
                    tries.append(1)
                    assert other.append(make_record(1), make_row(1))
                assert not slow.append(make_record(1), make_row(1))

        slow.repeat(write)
        assert [record.seq for record in slow.read(TASK)] == [1]


class Clock:
    """The time of the machine that calls."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.monotonic = time.monotonic

    def time(self) -> float:
        return time.time() + self.ahead


def test_the_ledger_uses_one_clock(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is an hour ahead obeys the same cooldowns and retries, in its own time."""
    clock = Clock()
    monkeypatch.setattr("ostler.store.postgres.database.time", clock)
    store = new_store(postgres_server)
    right, ahead = store.open_ledger(), store.open_ledger()
    try:
        assert right.record_failure("sonnet", Code.OVERLOADED, "busy", clock.time(), 1, 600)
        assert right.take_retry(clock.time(), 1)
        clock.ahead = 3600.0
        found = ahead.check_cooldown("sonnet", clock.time())
        assert found is not None and found.until == pytest.approx(clock.time() + 600, abs=30)
        assert not ahead.take_retry(clock.time() + 30, 1)
        assert ahead.check_cooldown("sonnet", clock.time() + 700) is None, "one may try it"
        clock.ahead = 0.0
        assert right.check_cooldown("sonnet", clock.time() + 701) is not None, "it is being tried"
    finally:
        right.close()
        ahead.close()

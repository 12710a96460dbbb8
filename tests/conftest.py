"""The fixtures of every test: a new home directory, and no settings of the user who runs them."""

from __future__ import annotations

import gc
import os
import re
import signal
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from servers.s3 import S3Server
from servers.temporal import TemporalServer

from examples import FULL, examples
from ostler.sandbox.network.indexes.found import Found
from ostler.secrets.registry import SECRETS
from ostler.secrets.variables import list_secret_variables
from stores import create_sqlite_store
from world import World

if TYPE_CHECKING:
    from servers.postgres import PostgresServer

    from ostler.store.store import Store

# The collection of tests creates objects that stay: it is a fifth faster without looking for garbage.
gc.disable()
# The same examples each time, for any speed of the machine; make test-full generates new ones.
settings.register_profile(
    "ostler",
    deadline=None,
    derandomize=not FULL,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ostler")
# They install 1.2 GB of agents from npm: make test-full.
REAL = [
    "real/test_real_acp.py",
    "real/test_real_drift.py",
    "real/test_real_limits.py",
    "real/test_real_moves.py",
    "real/test_real_others.py",
    "real/test_real_sandbox.py",
    "real/test_real_waits.py",
]
collect_ignore = [] if FULL else REAL
# nohup, or a shell that puts the tests in the background, has these ignored, and every program that a test
# starts would inherit that; a handler is not inherited.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda *_: None)
FOREIGN = ("OSTLER_", "GIT_", "CLAUDE", "ANTHROPIC_", "OPENAI_", "XDG_")


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Paths for new directories; pytest's own way lists all earlier ones each time, which is slow here."""
    base = tmp_path_factory.getbasetemp()
    return (base / str(number) for number in count())


@pytest.fixture
def tmp_path(places: Iterator[Path], request: pytest.FixtureRequest) -> Path:
    """A directory for one test."""
    number, name = next(places), re.sub(r"\W", "_", request.node.name)
    place = number.with_name(f"{name[:30]}-{number.name}")
    place.mkdir(mode=0o700)
    return place


@pytest.fixture(autouse=True)
def own_home(places: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """HOME is a new directory, and nothing of the caller's Ostler, git or agents is used."""
    home = next(places)
    home.mkdir(mode=0o700)
    for name in list(os.environ):
        if name.startswith(FOREIGN) and name != "OSTLER_FULL":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    # The tests of the sandbox set it to auto. Others look at what an agent does, often through files outside.
    monkeypatch.setenv("OSTLER_SANDBOX__TIER", "supervised")
    return home


@pytest.fixture(autouse=True)
def no_secret_of_another_test() -> None:
    """A registered secret, such as a random server token, holds back output that ends as it begins."""
    SECRETS.clear()
    SECRETS.add_source(lambda: list_secret_variables(os.environ))


@pytest.fixture
def no_package_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tool is asked for its package index, which takes a second; for commands in this process."""
    monkeypatch.setattr("ostler.sandbox.network.indexes.find._ask_all", lambda *_: Found())


@pytest.fixture(autouse=True)
def no_thread_of_another_test() -> Iterator[None]:
    """A run that ends before its first attempt leaves a thread that starts programs and reads files."""
    yield
    for thread in threading.enumerate():
        if thread.name == "sandbox-warm-up":
            thread.join(15)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A project with a repository and a well-behaved agent."""
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def temporal_server(places: Iterator[Path]) -> Iterator[TemporalServer]:
    """A Temporal server that the tests of this process share; use a queue of your own."""
    server = TemporalServer(next(places)).start()
    yield server
    server.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that the tests of this process share; do not stop it."""
    from servers.postgres import PostgresServer  # most runs of a single test need no psycopg

    server = PostgresServer().start()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """The URL of a new empty database."""
    return postgres_server.new_database()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store of each kind, without tasks."""
    if request.param == "postgres":
        from postgres_world import empty_store  # most runs of a single test need no psycopg

        return empty_store(request.getfixturevalue("postgres_server"))
    return create_sqlite_store(tmp_path / "ostler.db")


@pytest.fixture(scope="session")
def s3_server(places: Iterator[Path]) -> Iterator[S3Server]:
    """An S3 server that the tests of this process share; only under make test-full."""
    server = S3Server(next(places)).start()
    yield server
    server.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests marked `full` but not `smoke`, and most cases of `sampled` tests, to make test-full."""
    if not FULL:
        left = {item for item in items if item.get_closest_marker("full") and not _is_smoke(item)}
        left |= _not_sampled(items)
        config.hook.pytest_deselected(items=[*left])
        items[:] = [item for item in items if item not in left]


def _is_smoke(item: pytest.Item) -> bool:
    return item.get_closest_marker("smoke") is not None


def _not_sampled(items: list[pytest.Item]) -> set[pytest.Item]:
    """The cases of sampled tests that are left out; those that remain are spread evenly over all cases."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept: set[pytest.Item] = set()
    for group in cases.values():
        marker = group[0].get_closest_marker("sampled")
        wanted = min(marker.args[0], len(group)) if marker else 0
        kept |= {group[index * len(group) // wanted] for index in range(wanted)}
    return {item for group in cases.values() for item in group} - kept


def pytest_collection_finish() -> None:
    """Exempt all loaded objects from garbage collection: each command of a test collects once."""
    gc.collect()
    gc.freeze()
    gc.enable()

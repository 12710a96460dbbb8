"""What every test gets: a home of its own, and no settings of the person who runs them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from world import World

FULL = bool(os.environ.get("OSTLER_FULL"))
# The same examples each time, however long a busy machine takes over one; make test-full looks for new ones.
settings.register_profile(
    "ostler", deadline=None, derandomize=not FULL, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ostler")
# They install 1.2 GB of agents from npm: make test-full.
REAL = ["real/test_real_acp.py", "real/test_real_drift.py", "real/test_real_others.py"]
collect_ignore = [] if FULL else REAL
# nohup, or a shell that puts the tests in the background, has these ignored, and every program that a test
# starts would inherit that; a handler is not inherited.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda *_: None)
FOREIGN = ("OSTLER_", "GIT_", "CLAUDE", "ANTHROPIC_", "OPENAI_", "XDG_")


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """HOME is a fresh directory, and nothing of the caller's Ostler, git or agents leaks in."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(FOREIGN) and name != "OSTLER_FULL":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    return home


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A project with a repository and a well-behaved agent."""
    made = World(tmp_path)
    yield made
    made.close()

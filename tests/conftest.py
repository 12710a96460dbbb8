"""What every test gets: a home of its own, and no settings of the person who runs them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from world import World

# They install 1.2 GB of agents from npm: make test-full.
collect_ignore = (
    [] if os.environ.get("OSTLER_FULL") else ["real/test_real_acp.py", "real/test_real_others.py"]
)
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

"""Fixtures of the tests of publishing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.testing.fake_github import FakeGitHub


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeGitHub]:
    """A fake GitHub with the branches of the project's remote."""
    with FakeGitHub("acme/app", tmp_path / "remote.git") as made:
        yield made

"""What the tests of publishing share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.testing.fake_github import FakeGitHub


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeGitHub]:
    """A GitHub whose branches are those of the project's remote."""
    with FakeGitHub("acme/app", tmp_path / "remote.git") as made:
        yield made

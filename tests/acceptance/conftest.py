"""Fixtures of the tests of publishing, and the choice of the engine for all tests of commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_choice import ENGINE, use_cluster
from ostler.testing.fake_github import FakeGitHub


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeGitHub]:
    """A fake GitHub with the branches of the project's remote."""
    with FakeGitHub("acme/app", tmp_path / "remote.git") as made:
        yield made


if ENGINE == "temporal":
    from servers.postgres import PostgresServer
    from servers.temporal import TemporalServer

    @pytest.fixture(autouse=True)
    def on_a_cluster(
        request: pytest.FixtureRequest,
        monkeypatch: pytest.MonkeyPatch,
        temporal_server: TemporalServer,
        postgres_server: PostgresServer,
    ) -> None:
        """Each world is a project of a cluster."""
        if (mark := request.node.get_closest_marker("one_machine")) is not None:
            pytest.skip(mark.args[0])
        use_cluster(monkeypatch, temporal_server, postgres_server)

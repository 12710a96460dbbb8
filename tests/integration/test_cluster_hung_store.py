"""A journal that does not answer costs no healthy agent of a cluster its life."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from servers.postgres import PostgresServer
from servers.temporal import TemporalServer

from cluster_world import HEARTBEAT_SECONDS, ClusterWorld
from world import World, wait_until

HUNG_SECONDS = 6 * HEARTBEAT_SECONDS


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    """A server of its own, which can be frozen."""
    server = PostgresServer().start()
    yield server
    server.close()


@pytest.mark.full
def test_heartbeats_go_on_while_the_journal_hangs(
    world: World, temporal_server: TemporalServer, postgres: PostgresServer
) -> None:
    """PostgreSQL hangs for six heartbeats: the agent finishes its work, and no second one is started."""
    world.behave(delay_seconds=HUNG_SECONDS + 2, events=3)
    cluster = ClusterWorld(world, temporal_server, postgres.new_database())
    cluster.start_worker()
    task = world.new("A long one")
    wait_until(lambda: len(world.started()) == 1, 30, cluster.messages)
    postgres.program.freeze()
    time.sleep(HUNG_SECONDS)
    postgres.program.thaw()
    cluster.wait_for(task, "completed")
    assert len(world.started()) == 1, cluster.messages

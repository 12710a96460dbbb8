"""A turn in PostgreSQL is a lock of its connection."""

from __future__ import annotations

import pytest
from servers.postgres import PostgresServer

from postgres_world import new_store


@pytest.mark.parametrize("ends", ["released", "disconnected"])
def test_a_turn_ends_with_its_connection(postgres_server: PostgresServer, ends: str) -> None:
    """One process at a time has it; another one gets it when the first is gone."""
    store = new_store(postgres_server)
    first, second, another = store.turn("notify"), store.turn("notify"), store.turn("telemetry")
    try:
        assert not second.is_taken()
        assert first.take() and first.take() and first.is_taken()
        assert not second.take() and second.is_taken() and another.take()
        if ends == "released":
            first.release()
        else:
            disconnect_all(postgres_server)
        assert second.take() and not first.take() and first.is_taken()
    finally:
        for turn in (first, second, another):
            turn.release()


def disconnect_all(server: PostgresServer) -> None:
    server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ostler'")

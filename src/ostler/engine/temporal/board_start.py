"""Starts the board from a process that runs no tasks."""

from __future__ import annotations

from collections.abc import Mapping

from ostler.config.cluster import EngineSettings
from ostler.engine.temporal.connection import connect
from ostler.engine.temporal.inspection import WorkerFacts, read_workers
from ostler.engine.temporal.starter import Starter


async def start_board(
    settings: EngineSettings, environ: Mapping[str, str], store_id: str, name: str
) -> tuple[WorkerFacts, ...]:
    """Make sure that the board of a store exists, which waits for a worker; return the workers."""
    client = await connect(settings, environ, name)
    await Starter(client, settings, store_id).start_board()
    return await read_workers(client, settings)

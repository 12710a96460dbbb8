"""`ostler cluster doctor` with real servers, and without them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from servers.temporal import TemporalServer

from git_world import git
from ostler.config.cluster import BlobsSettings, EngineSettings, StoreSettings
from ostler.config.settings import Settings
from ostler.engine.temporal.connection import connect
from ostler.engine.temporal.inspection import read_server
from ostler.project.cluster.doctor import check_cluster
from ostler.store.postgres.address import parse_address
from ostler.store.postgres.database import PostgresDatabase
from world import World

NOWHERE = "127.0.0.1:1"


def configure(world: World, address: str, store: str) -> Settings:
    return Settings(
        engine=EngineSettings(kind="temporal", address=address),
        store=StoreSettings(url=store),
        blobs=BlobsSettings(url=f"file://{world.root.parent}/blobs"),
    )


def add_remote(world: World) -> Path:
    remote = world.root.parent / "remote.git"
    git(world.root, "init", "-q", "--bare", str(remote))
    git(world.root, "remote", "add", "origin", str(remote))
    return remote


def test_a_project_of_one_machine_has_no_cluster(world: World) -> None:
    """Exit 2 with the settings that a cluster needs."""
    refused = world.ostler("cluster", "doctor", code=2).stderr
    assert 'this project runs on one machine: engine.kind is "local"' in refused
    assert "set [engine], [store] and [blobs]" in refused


@pytest.mark.full
def test_the_servers_of_a_cluster(world: World, temporal_server: TemporalServer, postgres_url: str) -> None:
    """Everything that is shared is used once, and nothing of it is left; missing workers are an error."""
    settings = configure(world, temporal_server.address, postgres_url)
    remote = add_remote(world)
    world.new("Paint")
    PostgresDatabase(parse_address(postgres_url, "ostler"), create=True).close()
    checks = check_cluster(world.root, settings, world.environ)
    states = {check.name: check.ok for check in checks}
    assert states == {
        "packages": True,
        "store": True,
        "tables": True,
        "clock": True,
        "temporal": True,
        "workers": False,
        "board": False,
        "tasks": True,
        "blobs": True,
        "remote": True,
    }
    assert git(remote, "for-each-ref").strip() == ""
    assert not [path for path in (world.root.parent / "blobs").rglob("*") if path.is_file()]


def test_each_server_that_is_down_is_named(world: World) -> None:
    """One that cannot be reached does not hide the others; no password is printed."""
    settings = configure(world, NOWHERE, f"postgresql://ada:canary-7f3a91@{NOWHERE}/x")
    checks = check_cluster(world.root, settings, world.environ)
    states = {check.name: check.ok for check in checks}
    assert states == {"packages": True, "store": False, "temporal": False, "blobs": True, "remote": False}
    assert all(check.fix for check in checks if not check.ok)
    assert "canary" not in str(checks)


def test_a_remote_that_does_not_show_hidden_refs_is_named(world: World) -> None:
    """It takes the pushes of one worker, and the next one would find no commits."""
    settings, remote = configure(world, NOWHERE, f"postgresql://ada@{NOWHERE}/x"), add_remote(world)
    git(remote, "config", "uploadpack.hideRefs", "refs/ostler")
    checks = {check.name: check for check in check_cluster(world.root, settings, world.environ)}
    assert not checks["remote"].ok and "hidden refs" in checks["remote"].detail
    git(remote, "config", "--unset", "uploadpack.hideRefs")
    checks = {check.name: check for check in check_cluster(world.root, settings, world.environ)}
    assert checks["remote"].ok


def test_a_worker_is_known_by_its_name_and_labels(temporal_server: TemporalServer) -> None:
    """It polls for workflows even when it can take no further task."""
    settings = EngineSettings(address=temporal_server.address, queue="doctor")

    async def read() -> tuple[tuple[str, tuple[str, ...]], ...]:
        from temporalio.worker import Worker

        from ostler.engine.temporal.worker import create_runner
        from ostler.engine.temporal.workflows import TaskWorkflow

        client = await connect(settings, {}, "one:1+gpu,big")
        worker = Worker(
            client, task_queue="doctor", workflows=[TaskWorkflow], workflow_runner=create_runner()
        )
        async with worker:
            for _ in range(100):
                found = await read_server(client, settings, "none", ["gpu"])
                if found.workers:
                    break
                await asyncio.sleep(0.1)
        return tuple((one.name, one.labels) for one in found.workers)

    assert asyncio.run(read()) == (("one:1", ("gpu", "big")),)

"""Checks of everything that several machines share, from this machine."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ostler.blobs.opening import open_url
from ostler.config.find import find_root
from ostler.config.load import load_settings
from ostler.config.settings import Settings
from ostler.errors import OstlerError, UsageError
from ostler.git.discovery import discover_repository
from ostler.git.move.task_ref import delete_remote_refs, find_task_ref, push_commit, read_remote_commit
from ostler.git.run.command import query_git
from ostler.model.policy.packages import INSTALL_CLUSTER
from ostler.project.cluster.describe import describe_labels, describe_server, describe_store
from ostler.project.cluster.labels import count_labels
from ostler.project.inspection.check import Check
from ostler.project.project import Project

PACKAGES = ("temporalio", "psycopg", "obstore")


def run_cluster_checks(start: Path, environ: Mapping[str, str]) -> list[Check]:
    """Run all checks; raise UsageError for a project of one machine."""
    root = find_root(start, environ) or start
    settings = load_settings(root, environ).settings
    if settings.engine.kind == "local":
        raise UsageError(
            'this project runs on one machine: engine.kind is "local"',
            "set [engine], [store] and [blobs] in ostler.toml for several machines",
        )
    return check_cluster(root, settings, environ)


def check_cluster(root: Path, settings: Settings, environ: Mapping[str, str]) -> list[Check]:
    """Run the checks with these settings."""
    packages = _check_packages()
    if not packages.ok:
        return [packages]
    store_id, store = _check_store(settings)
    return [
        packages,
        *store,
        *_check_server(root, settings, environ, store_id),
        _run("blobs", lambda: _try_blobs(settings, environ)),
        _run("remote", lambda: _try_remote(root, settings)),
    ]


def _run(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except OstlerError as error:
        return Check(name, False, error.message.splitlines()[0], error.hint)


def _check_packages() -> Check:
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            return Check("packages", False, f"{name} is not installed", INSTALL_CLUSTER)
    return Check("packages", True, ", ".join(f"{name} {number}" for name, number in found.items()))


def _check_store(settings: Settings) -> tuple[str, list[Check]]:
    """Return the id of the store, empty without one, and the checks of the database and its clock."""
    # They import packages that only a cluster has.
    from ostler.store.postgres.address import parse_address  # noqa: PLC0415
    from ostler.store.postgres.inspection import read_store  # noqa: PLC0415

    try:
        address = parse_address(settings.store.url, settings.store.schema)
        facts = read_store(address)
    except OstlerError as error:
        return "", [Check("store", False, error.message.splitlines()[0], error.hint)]
    return facts.store_id, describe_store(facts, address.name, address.schema)


def _check_server(
    root: Path, settings: Settings, environ: Mapping[str, str], store_id: str
) -> Sequence[Check]:
    from ostler.engine.temporal.connection import connect  # noqa: PLC0415
    from ostler.engine.temporal.inspection import ServerFacts, read_server  # noqa: PLC0415

    tasks = dict[str, int]()
    if store_id:
        with Project.open(root, environ) as project:
            tasks = count_labels(project)

    async def read() -> ServerFacts:
        client = await connect(settings.engine, environ, f"doctor:{os.getpid()}")
        return await read_server(client, settings.engine, store_id, [*filter(None, tasks)])

    try:
        facts = asyncio.run(read())
    except OstlerError as error:
        return [Check("temporal", False, error.message.splitlines()[0], error.hint)]
    return [*describe_server(facts, settings.engine), *describe_labels(facts, tasks)]


def _try_blobs(settings: Settings, environ: Mapping[str, str]) -> str:
    """Write, read and delete a blob."""
    if not settings.blobs.url:
        return "not used: engine.shared_root is true"
    blobs = open_url(settings.blobs, environ, is_probe=True)
    name, text, began = f"doctor/{os.urandom(8).hex()}", os.urandom(16), time.monotonic()
    blobs.put(name, text)
    try:
        if blobs.read(name) != text:
            raise UsageError(f"{blobs.place} returns something else than was written", "check the server")
    finally:
        blobs.delete([name])
    return f"{blobs.place}: written, read and deleted in {(time.monotonic() - began) * 1000:.0f} ms"


def _try_remote(root: Path, settings: Settings) -> str:
    """Push a commit to a hidden ref of the remote, read it, and delete it again."""
    name = settings.engine.remote
    repository = discover_repository(root)
    if repository is None:
        raise UsageError(f"{root} is not a git repository, so no task can move", "git init, or git clone")
    commit = query_git(repository, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not commit:
        raise UsageError("the repository has no commit yet", "create one, then try again")
    ref = find_task_ref(repository, name, f"doctor-{os.urandom(8).hex()}", outage_seconds=0)
    began = time.monotonic()
    push_commit(ref, commit, lambda: True)
    is_shown = read_remote_commit(ref) == commit
    delete_remote_refs(ref)
    if not is_shown:
        message = f"{name} takes hidden refs but does not show them, so no task can move"
        raise UsageError(message, "remove refs/ostler from transfer.hideRefs and uploadpack.hideRefs there")
    return f"{name}: a hidden ref was pushed and deleted in {(time.monotonic() - began) * 1000:.0f} ms"

"""The checks of `ostler doctor` about the sandbox of agents: its tier, its network and its limits."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from ostler.calls.attempts.attempt import create_base_call
from ostler.calls.sandbox.network import find_package_indexes
from ostler.config.literal import quote
from ostler.config.load import load_settings
from ostler.config.settings import SandboxSettings
from ostler.errors import OstlerError
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.registry import ExecutorRegistry
from ostler.model.policy.sandbox import is_confined
from ostler.process.runner import DefaultCommandRunner
from ostler.project.inspection.check import Check
from ostler.project.inspection.confinement import Confinement, find_confinement
from ostler.sandbox.home.prepare import prepare_home
from ostler.sandbox.limits.places import find_places
from ostler.sandbox.network.indexes.describe import describe_indexes


def check_sandbox(root: Path, environ: Mapping[str, str]) -> list[Check]:
    """Choose the tier as a run does, with its self-test, and find what its network allows."""
    settings = load_settings(root, environ, {}).settings.sandbox
    found = find_confinement(settings, environ)
    checks = [_check_tier(settings, found)]
    if is_confined(found.record.tier) and not found.error:
        checks += [_check_network(settings, root, environ), _check_limits(settings)]
    return checks


def list_left_out(name: str, root: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what an agent reads in the user's home directory and does not get in its sandbox."""
    settings = load_settings(root, environ, {}).settings
    executor = ExecutorRegistry().make(name, settings.executors, DefaultCommandRunner())
    if not isinstance(executor, ProgramExecutor) or executor.spec.sandbox is None:
        return ()
    call = create_base_call(settings, executor.capabilities, environ, {})
    outside = executor.describe_outside(replace(call, cwd=str(root)))
    contents = executor.spec.sandbox.contents(outside, None)
    with TemporaryDirectory(prefix="ostler-home-") as place:
        return prepare_home(Path(place), outside.home, contents, settings.sandbox.home)


def describe_left_out(left_out: tuple[str, ...]) -> tuple[str, ...]:
    """Return what is left out, and the setting that brings it in; nothing if there is nothing."""
    if not left_out:
        return ()
    entries = ", ".join(quote(one) for one in left_out)
    return (f"not in its sandbox: {', '.join(left_out)}", f"to bring it in: sandbox.home = [{entries}]")


def _check_tier(settings: SandboxSettings, found: Confinement) -> Check:
    if found.error:
        return Check("sandbox", False, found.error, found.fix, state="error")
    if found.record.reason:
        detail = f"agents run without a sandbox: {found.record.reason}"
        return Check("sandbox", False, detail, found.fix, required=False, state="warning")
    if not is_confined(found.record.tier):
        return Check(
            "sandbox", True, f"agents run without one: sandbox.tier is {settings.tier}", required=False
        )
    tested = "self-test passed" if found.record.verified else "weaker: agents keep their permission checks"
    return Check("sandbox", True, f"{found.record.tier}, {tested}", required=False)


def _check_network(settings: SandboxSettings, root: Path, environ: Mapping[str, str]) -> Check:
    if settings.network != "proxy":
        detail = {"on": "everything, sandbox.network is on", "off": "nothing, sandbox.network is off"}
        return Check("network", True, detail[settings.network], required=False)
    allowed = ", ".join(settings.allow_hosts) or "none"
    try:
        indexes = asyncio.run(find_package_indexes(settings, environ, root, ask_again=True))
    except (OstlerError, OSError) as error:
        return Check("network", False, f"the package indexes were not found: {error}", required=False)
    detail = f"the model, package indexes, and sandbox.allow_hosts: {allowed}"
    return Check("network", True, detail, required=False, more=tuple(describe_indexes(indexes)))


def _check_limits(settings: SandboxSettings) -> Check:
    groups = sorted({name for place in find_places() for name in place.controllers})
    # The kernel does not limit the processes of root.
    inherited = ["file size"] + (["processes"] if "pids" not in groups and os.geteuid() != 0 else [])
    by_group = f"{' and '.join(groups)} by control groups, " if groups else ""
    values = f"{settings.max_processes} processes, {settings.max_file_mb} MB per file"
    detail = f"{by_group}{' and '.join(inherited)} by resource limits: {values}"
    return Check("limits", True, f"{detail}, {settings.max_disk_mb} MB in all", required=False)

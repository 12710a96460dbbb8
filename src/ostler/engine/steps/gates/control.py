"""The positive control: plants mistakes in the commit that passed, and runs the gate on it.

It runs once per command, lockfiles, configuration of the tests, scripts and isolation, right after a pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.thread import run_in_thread
from ostler.config.settings import GateOptions, GateSettings
from ostler.engine.steps.gates.file_kinds import (
    is_lockfile,
    is_test_configuration,
    list_named_scripts,
)
from ostler.engine.steps.gates.isolated import run_isolated
from ostler.engine.steps.gates.plants import Files, add_failing_tests, break_sources, empty_files
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.checkout import check_out_commit
from ostler.engine.steps.workspaces.shell import ShellCommand
from ostler.errors import CODES, Origin, OstlerError
from ostler.git.commit.variant import TreeFile, commit_variant, list_tree
from ostler.git.repository import Repository
from ostler.model.command import Exit
from ostler.model.plan import MERGE
from ostler.store.busy import RUN_WAIT_SECONDS
from ostler.store.gate_controls import Acceptance, ControlClass, GateControl

_MAX_SECONDS = 600.0
_MAX_RATIO = 3.0  # of the time of the gate itself
_MIN_SECONDS = 20.0  # three times a short gate would end before its programs start
_LONGER = 1.25  # times the limit that did not suffice, before the control is tried again
_STOPPED = "/stopped at "  # between the key of a control and its limit
_NEEDS_NETWORK = "the command fails without a network"
_WITHOUT_NETWORK = ("bind-over", "unshare")  # isolations that can switch the network off

Planter = Callable[[Repository, Files, frozenset[str]], dict[str, TreeFile]]
Outcome = Literal["pass", "fail", "none"]  # none: nothing could be planted
_PLANTS: dict[str, Planter] = {
    "syntax errors": break_sources,
    "failing tests": add_failing_tests,
    "empty files": empty_files,
}


class PassedGate(Struct, frozen=True):
    """A command gate that passed, and how."""

    name: str
    command: str
    commit: str
    log: Path
    isolation: str
    seconds: float  # for the checkout, its setup and the command
    # False: the commit may disable its tests, so that other commits need a control of their own.
    is_typical: bool = True


class NotRun(Exception):
    """The control has no result; the message is the reason."""


class StoppedAtLimit(NotRun):
    """It was stopped at its time limit; a longer limit may suffice."""

    def __init__(self, limit: float) -> None:
        super().__init__(f"stopped at its limit of {limit:.0f} s")


async def find_control(
    gate: PassedGate, context: TaskContext, services: StepServices
) -> tuple[GateControl, Acceptance | None]:
    """Return the control of the gate, and who accepted the gate; runs it unless its result is known."""
    repository = services.repository
    assert repository is not None
    unknown = GateControl("", gate.name, gate.command, gate.isolation, None, commit=gate.commit)
    if reason := _find_obstacle(gate, services.settings.gates):
        return replace(unknown, detail=reason), None
    if gate.isolation not in _WITHOUT_NETWORK:
        return await _record_isolation(unknown, services), None
    files = await run_in_thread(list_tree, repository, gate.commit)
    scripts = frozenset(list_named_scripts(gate.command, repository.prefix, files))
    key = _compute_key(gate, files, scripts)
    run = _ControlRun(gate, files, scripts, repository, context, services)
    known, acceptance = await run_in_thread(_read_known, key, run.limit, gate, services)
    if known is not None:
        return known, acceptance
    try:
        result, detail = await run.classify()
    except StoppedAtLimit as reason:
        result, detail, key = None, str(reason), name_stopped(key, run.limit)
    except NotRun as reason:
        result, detail = None, str(reason)
    done = replace(unknown, key=key, result=result, detail=detail, checked_at=services.clock.now())
    if gate.is_typical:
        await run_in_thread(_record, done, services)
    return done, acceptance


def classify(syntax: Outcome, test: Outcome, empty: Outcome) -> ControlClass:
    """Return the class of a gate by how it ended with each plant."""
    match syntax, test:
        case "fail", "fail":
            return "tests the code"
        case "fail", "pass":
            return "static only"
        case "pass", "fail":
            return "wrong code"
        case ("fail", "none") | ("none", "fail"):
            return "fails when broken"
        case _:
            return "narrow" if empty == "fail" else "inert"


def _find_obstacle(gate: PassedGate, settings: GateSettings) -> str:
    """Return why the control must not run; empty if it may."""
    if gate.name == MERGE:
        return "gates before publishing have none"
    if not settings.control or not settings.options.get(gate.name, GateOptions()).control:
        return "switched off"
    return ""


async def _record_isolation(unknown: GateControl, services: StepServices) -> GateControl:
    """Record that there is no control, so that `ostler gates` shows the isolation."""
    level = unknown.isolation.partition(":")[0]  # without the key of an environment
    detail = f"isolation {level} does not switch the network off"
    key = hashlib.sha256("\0".join((unknown.gate, unknown.command, unknown.isolation)).encode()).hexdigest()
    done = replace(unknown, key=key, detail=detail, checked_at=services.clock.now())
    await run_in_thread(_record, done, services)
    return done


def _compute_key(gate: PassedGate, files: Files, scripts: frozenset[str]) -> str:
    relevant = sorted(
        f"{name} {file.blob}"
        for name, file in files.items()
        if name in scripts or is_lockfile(name) or is_test_configuration(name)
    )
    text = "\0".join((gate.name, gate.command, gate.isolation, *relevant))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def name_stopped(key: str, limit: float) -> str:
    """Return the key of a control that was stopped at this limit."""
    return f"{key}{_STOPPED}{limit:.0f}"


def suffices(control: GateControl, key: str, limit: float) -> bool:
    """Return whether this result is used again.

    Only a longer limit can change one that was stopped. Other reasons, such as a lack of memory, are outside
    the gate and may be over.
    """
    before, stopped, stored = control.key.partition(_STOPPED)
    if stopped:
        return before == key and limit < float(stored) * _LONGER
    return control.key == key and (control.result is not None or control.detail == _NEEDS_NETWORK)


def _read_known(
    key: str, limit: float, gate: PassedGate, services: StepServices
) -> tuple[GateControl | None, Acceptance | None]:
    with services.store.open_gate_controls(wait_seconds=RUN_WAIT_SECONDS) as store:
        known = [one for one in store.controls() if suffices(one, key, limit)]
        # The last one: a control with a longer limit may have ended since.
        return (known[-1] if known else None), store.find_acceptance(gate.name, gate.command)


def _record(control: GateControl, services: StepServices) -> None:
    with services.store.open_gate_controls(wait_seconds=RUN_WAIT_SECONDS) as store:
        store.record(control)


class _ControlRun:
    """The runs of one control, within their common time limit."""

    def __init__(
        self,
        gate: PassedGate,
        files: Files,
        scripts: frozenset[str],
        repository: Repository,
        context: TaskContext,
        services: StepServices,
    ) -> None:
        self._gate = gate
        self._files = files
        self._scripts = scripts
        self._repository = repository
        self._context = context
        self._services = services
        self.limit = min(_MAX_SECONDS, max(_MIN_SECONDS, _MAX_RATIO * gate.seconds))
        self._deadline = services.clock.monotonic() + self.limit

    async def classify(self) -> tuple[ControlClass, str]:
        """Return the class and how the gate ended with each plant; raises NotRun if that is not possible."""
        seen: dict[str, Outcome] = {
            name: await self._run_plant(name) for name in ("syntax errors", "failing tests")
        }
        if "fail" not in seen.values():
            seen["empty files"] = await self._run_plant("empty files")
        if "fail" in seen.values() and not await self._passes("unchanged", self._gate.commit):
            raise NotRun(_NEEDS_NETWORK)
        detail = ", ".join(f"{name}: {outcome}" for name, outcome in seen.items() if outcome != "none")
        return classify(seen["syntax errors"], seen["failing tests"], seen.get("empty files", "none")), detail

    async def _run_plant(self, name: str) -> Outcome:
        planted = await run_in_thread(_PLANTS[name], self._repository, self._files, self._scripts)
        if not planted:
            return "none"
        commit = await run_in_thread(commit_variant, self._repository, self._gate.commit, planted)
        return "pass" if await self._passes(name, commit) else "fail"

    async def _passes(self, name: str, commit: str) -> bool:
        """Return whether the gate passes on this commit, without a network."""
        log = self._gate.log.with_suffix(f".control-{name.replace(' ', '-')}.log")
        try:
            async with check_out_commit(
                commit, log.with_suffix(".setup.log"), self._context, self._services
            ) as directory:
                shown = f"{self._gate.command} (control: {name})"
                shell = ShellCommand(self._gate.command, directory, log, self._remaining(), shown)
                run = await run_isolated(shell, self._context, self._services, network=False)
        except OstlerError as error:
            if CODES[error.code].origin is Origin.HOST:
                raise
            # The setup of the checkout fails on broken files: they do not reach the command.
            return False
        if run.blocked or run.isolation != self._gate.isolation:
            raise NotRun(run.blocked or f"isolation {run.isolation} instead of {self._gate.isolation}")
        return self._evaluate(run.exit)

    def _evaluate(self, ended: Exit) -> bool:
        if ended.stopped is not None:
            raise StoppedAtLimit(self.limit)
        if ended.oom_killed:
            raise NotRun("the machine is out of memory")
        if ended.was_killed:
            raise NotRun(f"killed by signal {ended.signal}")
        return ended.status == 0

    def _remaining(self) -> float:
        left = self._deadline - self._services.clock.monotonic()
        if left <= 0:
            raise StoppedAtLimit(self.limit)
        return left

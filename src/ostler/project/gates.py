"""The command gates of a project: their controls, and their acceptance by a person."""

from __future__ import annotations

import getpass

from msgspec import Struct

from ostler.clock import SystemClock, format_rfc3339
from ostler.config.checks.expect import nearest
from ostler.errors import UsageError, WarningCode
from ostler.model.rows import decode_state
from ostler.model.status import TaskStatus
from ostler.project.project import Project
from ostler.store.gate_controls import Acceptance, GateControl


class GateSummary(Struct, frozen=True):
    """A command gate of the settings, and the last control of its present command."""

    name: str  # phase
    command: str
    isolation: str | None = None  # None: no control yet
    control: str | None = None
    detail: str = ""  # how it ended with each plant
    checked_at: str | None = None
    cannot_fail: bool = False
    accepted_by: str | None = None
    accepted_at: str | None = None


class AcceptedGate(Struct, frozen=True):
    """A gate after `ostler gates accept`."""

    gate: GateSummary
    waiting: tuple[str, ...] = ()  # tasks that wait for a person because of it


def list_gates(project: Project) -> list[GateSummary]:
    """Return the gates of [gates.commands], in the order of the settings."""
    with project.store.open_gate_controls() as store:
        controls = {(one.gate, one.command): one for one in store.controls()}
        acceptances = {(one.gate, one.command): one for one in store.acceptances()}
    return [
        _summarize(name, command, controls.get((name, command)), acceptances.get((name, command)))
        for name, command in project.settings.gates.commands.items()
    ]


def accept_gate(project: Project, name: str) -> AcceptedGate:
    """Use the verdicts of a gate although its command cannot fail; raises UsageError inside a task.

    A changed command has to be accepted again.
    """
    project.require_person("accept gates")
    commands = project.settings.gates.commands
    if name not in commands:
        meant = nearest(name, commands) or ", ".join(commands) or "a name of [gates.commands]"
        raise UsageError(
            f"no command gate has the name {name!r:.80}", f"use {meant}; ostler gates lists them"
        )
    found = next(one for one in list_gates(project) if one.name == name)
    if found.control is not None and not found.cannot_fail:
        raise UsageError(
            f"there is nothing to accept: the control of {name} is {found.control}", "ostler gates"
        )
    with project.store.open_gate_controls() as store:
        store.accept(Acceptance(name, commands[name], getpass.getuser(), SystemClock.now()))
    gate = next(one for one in list_gates(project) if one.name == name)
    return AcceptedGate(gate, _list_waiting(project, name))


def _summarize(
    name: str, command: str, control: GateControl | None, acceptance: Acceptance | None
) -> GateSummary:
    summary = GateSummary(
        name,
        command,
        accepted_by=acceptance.by if acceptance else None,
        accepted_at=format_rfc3339(acceptance.at) if acceptance else None,
    )
    if control is None:
        return summary
    return GateSummary(
        name,
        command,
        control.isolation,
        control.describe(),
        control.detail if control.result else "",
        format_rfc3339(control.checked_at),
        control.cannot_fail,
        summary.accepted_by,
        summary.accepted_at,
    )


def _list_waiting(project: Project, name: str) -> tuple[str, ...]:
    """Return the tasks that wait for a person at this gate, because it cannot fail."""
    states = [decode_state(row) for row in project.journal.open_rows()]
    return tuple(
        state.task
        for state in states
        if state.status is TaskStatus.NEEDS_REVIEW
        and state.current.id == name
        and WarningCode.GATE_INERT in state.warnings
    )

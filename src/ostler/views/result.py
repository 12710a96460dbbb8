"""What the work of a task is: the size of its change, and what its gates decided."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.state import GateVerdict
from ostler.views.task import GateView, TaskView
from ostler.views.verdicts import CommitVerdict


class ChangeSize(Struct, frozen=True):
    """The size of a change; a binary file counts as a file without lines."""

    files: int = 0
    additions: int = 0
    deletions: int = 0


class GateTick(Struct, frozen=True):
    """The verdict of a gate."""

    name: str
    verdict: GateVerdict
    reason: str
    current: bool  # about the files of the last commit


def tick_gates(view: TaskView) -> tuple[GateTick, ...]:
    """Return the verdicts of the gates that checked something, in the order of the plan."""
    phases = [(phase.id, phase.gate) for phase in view.phases]
    named = [(one.name, one.gate) for one in view.gates]
    known = {one.name: one for one in view.verdicts.gates} if view.verdicts else {}
    return tuple(
        tick for name, gate in (*phases, *named) if (tick := _tick(name, gate, known.get(name))) is not None
    )


def _tick(name: str, gate: GateView, about: CommitVerdict | None) -> GateTick | None:
    verdict = about.verdict if about else gate.verdict
    if gate.type == "auto" or verdict == "pending":
        return None
    reason = gate.reason if gate.verdict == verdict else ""
    return GateTick(name, verdict, reason, about is not None and about.current)

"""The verdicts of a task's gates about its commit: a line for buttons, lists and results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ostler.model.plan import MERGE
from ostler.model.state import GateState, GateVerdict, State
from ostler.views.verdict import format_verdict


class CommitVerdict(Struct, frozen=True):
    """The verdict of one gate."""

    name: str
    verdict: GateVerdict
    text: str  # with the person who overruled it, and the commit if it is another one
    current: bool  # it is about the files of the commit


class Verdicts(Struct, frozen=True):
    """What the gates decided about one commit."""

    commit: str
    passed: bool  # at least one gate has checked it, and each one passed
    text: str  # names each gate that did not pass
    gates: tuple[CommitVerdict, ...] = ()


def view_verdicts(state: State) -> Verdicts | None:
    """Return the verdicts about the task's last commit; None without a commit."""
    if state.commit is None:
        return None
    gates = tuple(_view(name, gate, state) for name, gate in _list_gates(state))
    checked = [one for one in gates if one.verdict == "pass" and one.current]
    passed = bool(checked) and len(checked) == len(gates)
    return Verdicts(state.commit, passed, _describe(state.commit, gates, checked), gates)


def _list_gates(state: State) -> Iterator[tuple[str, GateState]]:
    for phase in state.phases:
        if phase.gate is not None:
            yield phase.id, phase.gate
    for one in state.gates:
        yield one.name, one.gate
    if state.merge is not None and state.merge.verdict not in ("skipped", "not_checked"):
        yield MERGE, state.merge


def _view(name: str, gate: GateState, state: State) -> CommitVerdict:
    current = state.is_about_last_commit(gate)
    verdict = gate.commit_verdict
    words = "waits for you" if verdict == "pending" else format_verdict(verdict, gate.by, gate.original)
    text = f"{name}: {words}"
    elsewhere = f" on {gate.sha:.10}, not on this commit" if gate.sha and not current else ""
    return CommitVerdict(name, verdict, text + elsewhere, current)


def _describe(commit: str, gates: tuple[CommitVerdict, ...], checked: list[CommitVerdict]) -> str:
    others = _join(one for one in gates if one not in checked)
    if not checked:
        return f"no gate has passed {commit:.10}" + (f" ({others})" if others else "")
    names = ", ".join(one.name for one in checked)
    return f"{names}: pass on {commit:.10}" + (f"; {others}" if others else "")


def _join(gates: Iterable[CommitVerdict]) -> str:
    """Return the verdicts; gates that have checked nothing, of any commit, are named together."""
    every = list(gates)
    unchecked = ", ".join(one.name for one in every if one.verdict == "not_checked")
    texts = [one.text for one in every if one.verdict != "not_checked"]
    return "; ".join([*texts, *([f"{unchecked}: not checked"] if unchecked else [])])

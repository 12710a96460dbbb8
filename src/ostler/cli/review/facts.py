"""What a person reads before a decision: the task, its gates, the summary, and what is possible."""

from __future__ import annotations

from collections.abc import Iterator

from ostler.cli.review.filled import DECISIONS
from ostler.cli.review.form import FormHead
from ostler.cli.terminal.diff_lines import Line
from ostler.cli.terminal.markdown import sanitize_lines
from ostler.cli.terminal.text import format_duration, format_usd, to_one_line
from ostler.project.reviews.view import ReviewGate, ReviewView

_SIGNS = {"pass": "✓", "fail": "✗"}
_MEANINGS = {
    "approve": "accept it, and publish it only if git.on_complete is set",
    "approve and merge": "accept it and merge it",
    "approve and pr": "accept it and open a pull request",
    "send back": "the agent gets the message and all comments",
    "comment": "save the comments for later; nothing is sent",
}


def describe_task(view: ReviewView, summary: str) -> list[str]:
    """Return the task and its work in two or three lines."""
    spent = [format_duration(view.duration_ms / 1000) if view.duration_ms else "", format_usd(view.cost_usd)]
    commit = f"commit {view.commit[:10]}" if view.commit else ""
    work = [commit, summary, to_one_line(view.agent), *spent]
    return [
        f"{view.id}: {to_one_line(view.title)}",
        f"{view.status}, {view.priority}, round {view.round}",
        " · ".join(filter(None, work)),
    ]


def describe_gates(view: ReviewView) -> Iterator[Line]:
    """Yield the verdict of each gate that decided something."""
    for gate in view.gates:
        if gate.verdict not in ("pending", "not_checked"):
            yield _describe_gate(gate), {"pass": "green", "fail": "red"}.get(gate.verdict, "yellow")


def _describe_gate(gate: ReviewGate) -> str:
    sign = _SIGNS.get(gate.verdict, "·")
    reason = f": {to_one_line(gate.reason)}" if gate.reason else ""
    old = "" if gate.current or not gate.sha else f" (of commit {gate.sha[:10]})"
    return f"{sign} {gate.name}{old}{reason}"


def describe_texts(view: ReviewView) -> Iterator[tuple[str, list[str]]]:
    """Yield the agent's question and summary, each with its title."""
    for title, text in (("Question of the agent", view.question), ("Summary of the agent", view.summary)):
        if text.strip():
            yield title, sanitize_lines(text.strip())


def make_head(view: ReviewView, summary: str) -> FormHead:
    """Return the head of a form."""
    lines = [*describe_task(view, summary), *(text for text, _ in describe_gates(view))]
    for title, texts in describe_texts(view):
        lines += ["", f"{title}:", *(f"  {line}".rstrip() for line in texts)]
    names = [name for name in DECISIONS if not explain_refused(view, name)]
    return FormHead(view.version, tuple(lines), tuple((name, _MEANINGS[name]) for name in names))


def explain_refused(view: ReviewView, decision: str) -> str:
    """Return why a decision is not possible now; empty if it is."""
    if decision in ("approve and merge", "approve and pr") and view.commit is None:
        return "there is no commit"
    if decision.startswith("approve"):
        return view.can.approve.reason
    return view.can.send_back.reason if decision == "send back" else ""

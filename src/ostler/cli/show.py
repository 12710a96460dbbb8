"""ostler show"""

from __future__ import annotations

import sys

import click

from ostler.cli.cost_words import sentences
from ostler.cli.next_step import next_step
from ostler.cli.out import emit, json_option, open_project, say
from ostler.cli.text import (
    STATUS_COLOURS,
    hanging,
    money,
    one_line,
    paint,
    printable,
    reason,
    table,
    wants_colour,
)
from ostler.model.ids import TaskId
from ostler.model.usage import Usage
from ostler.views.cost import CostLine, Paid, add
from ostler.views.task import AttemptView, GateView, PhaseView, TaskView
from ostler.views.task import as_json as task_json

_INDENT = 12  # where the values of a card begin


@click.command("show")
@click.argument("task", metavar="ID")
@json_option
def command(task: str, as_json: bool) -> None:
    """One task in full: where it stands, what came of it, every attempt."""
    with open_project() as project:
        view = project.show(project.resolve(task))
        budget_usd = project.allowance(TaskId(view.id))
    if as_json:
        emit(task_json(view))
        return
    say(card(view, budget_usd))
    if len(view.phases) > 1 or any(_gate(one.gate) for one in view.phases):
        say("\n" + phases_table(view.phases))
    if view.attempts:
        say("\n" + attempts_table(view.attempts))
    if step := next_step(view):
        say(f"\nNext: {step}")


def card(view: TaskView, budget_usd: float | None = None) -> str:
    status = paint(view.status, STATUS_COLOURS.get(view.status, ""), wants_colour(sys.stdout))
    facts = {
        "status": status if not view.code else f"{status} ({view.code})",
        "why": view.message,
        "resumes": view.resumes_at or "",
        "after": ", ".join(f"{one} (not yet)" if one in view.waits_for else one for one in view.after),
        "begins": view.not_before or "",
        "weight": f"{view.weight}, priority {view.priority}",
        "phase": f"{view.phase}, iteration {view.iteration}",
        "branch": view.branch or "",
        "commit": view.commit or "",
        "worktree": view.worktree or "",
        "document": view.output_path or "",
        "published": view.pr_url or "",
        "tokens": used(view.usage),
        "cost": cost(view.attempts, budget_usd),
        "warnings": ", ".join(view.warnings),
        "created": view.created_at,
        "updated": view.updated_at,
    }
    lines = [f"{view.id}  {printable(view.title)}", ""]
    lines += [
        f"  {name:<9} {value}" if name == "status" else _indented(f"  {name:<9} {printable(value)}")
        for name, value in facts.items()
        if value
    ]
    return "\n".join(lines)


def used(usage: Usage) -> str:
    kinds = {
        "in": usage.input_tokens,
        "out": usage.output_tokens,
        "read from cache": usage.cache_read_tokens,
        "written to cache": usage.cache_write_tokens,
    }
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)


def cost(attempts: tuple[AttemptView, ...], budget_usd: float | None) -> str:
    """All attempts, the failed ones too, and who says what they cost."""
    bill = CostLine("")
    for one in attempts:
        if one.status != "running":
            bill = add(bill, Paid(one.usage, one.cost_usd, one.cost_source, one.billing))
    limit = (f"Budget: {money(budget_usd)}.",) if budget_usd is not None else ()
    return "\n".join((*sentences(bill), *limit))


def _indented(value: str) -> str:
    """So that a second line of what an agent said cannot be taken for a field of ours."""
    return "\n".join(hanging(line, _INDENT) for line in value.replace("\n", "\n" + " " * _INDENT).split("\n"))


def phases_table(phases: tuple[PhaseView, ...]) -> str:
    rows = [
        (
            one.id,
            one.status,
            str(one.iterations or ""),
            (one.commit or "")[:10],
            one_line(_gate(one.gate)),
        )
        for one in phases
    ]
    colours = [
        {"completed": "green", "failed": "red", "skipped": "dim"}.get(one.status, "") for one in phases
    ]
    return table(("phase", "stands", "calls", "commit", "gate"), rows, colours)


def _gate(gate: GateView) -> str:
    """What was asked and what was said; nothing where there is nothing to pass."""
    if gate.type in ("auto", "skip") and gate.verdict in ("pass", "pending"):
        return ""
    return f"{gate.type}: {reason(gate.verdict, gate.reason)}"


def attempts_table(attempts: tuple[AttemptView, ...]) -> str:
    rows = [
        (
            str(a.number),
            a.status + (" (resumed)" if a.resumed else ""),
            f"{a.phase} {a.iteration}",
            a.executor,
            "" if a.duration_ms is None else f"{a.duration_ms / 1000:.1f} s",
            one_line(reason(a.code, a.message)),
        )
        for a in attempts
    ]
    colours = [{"succeeded": "green", "failed": "red"}.get(a.status, "") for a in attempts]
    return table(("attempt", "ended", "phase", "agent", "took", ""), rows, colours, spare=("agent", "took"))

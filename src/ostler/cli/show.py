"""ostler show"""

from __future__ import annotations

import sys

import click

from ostler.cli.out import emit, json_option, open_project, say
from ostler.cli.text import STATUS_COLOURS, money, paint, printable, table, wants_colour
from ostler.views.task import AttemptView, TaskView
from ostler.views.task import as_json as task_json

_NEXT = {
    "pending": "ostler run {id}",
    "in_progress": "ostler log {id} -f",
    "completed": "ostler diff {id}",
    "failed": "ostler log {id}   and then   ostler retry {id}",
    "quarantined": "ostler log {id}   and then   ostler retry {id}",
    "cancelled": "ostler retry {id}",
    "blocked": "ostler log {id}   and then   ostler retry {id}",
    "paused": "ostler retry {id}",
    "deferred": "ostler run {id}   once it is due",
}


@click.command("show")
@click.argument("task")
@json_option
def command(task: str, as_json: bool) -> None:
    """One task in full: where it stands, what came of it, every attempt."""
    with open_project() as project:
        view = project.show(project.resolve(task))
    if as_json:
        emit(task_json(view))
        return
    say(card(view))
    if view.attempts:
        say("\n" + attempts_table(view.attempts))
    if view.status in _NEXT:
        say("\nNext: " + _NEXT[view.status].format(id=view.id))


def card(view: TaskView) -> str:
    status = paint(view.status, STATUS_COLOURS.get(view.status, ""), wants_colour(sys.stdout))
    facts = {
        "status": status if not view.code else f"{status} ({view.code})",
        "why": view.message,
        "resumes": view.resumes_at or "",
        "weight": f"{view.weight}, {view.priority}",
        "phase": f"{view.phase}, iteration {view.iteration}",
        "branch": view.branch or "",
        "commit": view.commit or "",
        "worktree": view.worktree or "",
        "tokens": f"{view.usage.input_tokens} in, {view.usage.output_tokens} out" if view.usage.total else "",
        "cost": money(view.cost_usd),
        "warnings": ", ".join(view.warnings),
        "created": view.created_at,
        "updated": view.updated_at,
    }
    lines = [f"{view.id}  {printable(view.title)}", ""]
    lines += [
        f"  {name:<9} {value if name == 'status' else printable(value)}"
        for name, value in facts.items()
        if value
    ]
    return "\n".join(lines)


def attempts_table(attempts: tuple[AttemptView, ...]) -> str:
    rows = [
        (
            str(a.number),
            a.status + (" (resumed)" if a.resumed else ""),
            f"{a.phase} {a.iteration}",
            a.executor,
            "" if a.duration_ms is None else f"{a.duration_ms / 1000:.1f} s",
            printable(f"{a.code}: {a.message}" if a.code else ""),
        )
        for a in attempts
    ]
    colours = [{"succeeded": "green", "failed": "red"}.get(a.status, "") for a in attempts]
    return table(("attempt", "ended", "phase", "agent", "took", ""), rows, colours)

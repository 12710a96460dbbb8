"""ostler models"""

from __future__ import annotations

import asyncio
import os

import click
from msgspec.structs import replace

from ostler.cli.out import emit, hint, json_option, open_project, say
from ostler.cli.text import one_line, pad, table, width
from ostler.clock import SystemClock, local_time
from ostler.model.task import Task
from ostler.project.model_check import SECONDS, ask_models
from ostler.project.pool import pool_for
from ostler.project.preflight import refusals
from ostler.project.project import Project
from ostler.store.sqlite_ledger import SqliteLedger
from ostler.views.models import Answer, ModelView, Standing, as_json, pool_of, view_models

HEADER = ("name", "state", "answer", "executor", "model", "cost", "pool")
SPARE = ("cost", "pool")
COLOURS = {"ready": "green", "disabled": "dim", "unusable": "red"}


@click.command("models")
@click.option("--check", is_flag=True, help=f"Ask each model for a word, {SECONDS:.0f} s at most.")
@json_option
def command(check: bool, as_json: bool) -> int:
    """The models that calls may use, and how each one stands.

    With --check, exit 1 when none of them answers.
    """
    now = SystemClock.now()
    with open_project(create=True) as project:
        views = _look(project, now)
        if check:
            views = _ask(project, views, now)
    healthy = not check or any(view.answer and view.answer.ok for view in views)
    if as_json:
        _emit(views, healthy)
    else:
        _show(views, now)
    if not healthy:
        hint("\nostler: no model answered")
    return 0 if healthy else 1


def _look(project: Project, now: float) -> list[ModelView]:
    pool = pool_for(Task("", role=""), project.loaded)  # all: no task, role or flag narrows it down
    refused = refusals(project, {choice.executor for choice in pool.choices})
    ledger = SqliteLedger(project.layout.database)
    try:
        return view_models(pool, ledger.limits(now), ledger.rests(now), refused)
    finally:
        ledger.close()


def _ask(project: Project, views: list[ModelView], now: float) -> list[ModelView]:
    """Those that could be used; a provider that asked us to wait is not bothered."""
    choices = [view.choice for view in views if _may_be_asked(view.standing, now)]
    if choices:
        names = ", ".join(choice.name for choice in choices)
        hint(f"Asking {names}; {SECONDS:.0f} s at most for each ...\n")
    answers = asyncio.run(ask_models(project, choices, os.environ))
    return [replace(view, answer=answers.get(view.choice.name)) for view in views]


def _may_be_asked(standing: Standing, now: float) -> bool:
    due = standing.until is None or standing.until <= now
    return standing.state in ("ready", "resting") or (standing.state == "limited" and due)


def _emit(views: list[ModelView], healthy: bool) -> None:
    emit({"schema": "ostler.models/1", "ok": healthy, "models": [as_json(view) for view in views]})


def _show(views: list[ModelView], now: float) -> None:
    colours = [COLOURS.get(view.standing.state, "yellow") for view in views]
    say(table(HEADER, [_row(view, now) for view in views], colours, SPARE))
    reasons = [(one_line(view.choice.name), reason) for view in views if (reason := _reason(view))]
    room = max((width(name) for name, _ in reasons), default=0)
    for number, (name, reason) in enumerate(reasons):
        say(("" if number else "\n") + f"{pad(name, room)}  {reason}")


def _row(view: ModelView, now: float) -> tuple[str, ...]:
    choice = view.choice
    return (
        one_line(choice.name),
        _state(view.standing, now),
        _answer(view.answer),
        choice.executor,
        one_line(choice.model) or "its default",
        str(choice.cost_weight),
        pool_of(choice),
    )


def _state(standing: Standing, now: float) -> str:
    word = standing.state.replace("_", " ")
    if standing.until is None:
        return word
    return f"{word} until {local_time(standing.until, now)}" if standing.until > now else f"{word}, now due"


def _answer(answer: Answer | None) -> str:
    if answer is None:
        return ""
    return f"{answer.seconds:.1f} s" if answer.ok else str(answer.code)


def _reason(view: ModelView) -> str:
    """Why a model does not stand ready, or did not answer."""
    if view.answer is not None and not view.answer.ok:
        return one_line(view.answer.message)
    standing = view.standing
    if standing.state == "resting":
        return one_line(f"{standing.failures} x {standing.code}: {standing.message}".removesuffix(": "))
    return one_line(standing.message) if standing.state != "ready" else ""

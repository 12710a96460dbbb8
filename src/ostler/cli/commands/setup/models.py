"""ostler models"""

from __future__ import annotations

import os
import sys
from contextlib import closing

import click
from msgspec.structs import replace

from ostler.calls.models.start_policy import stop_threshold
from ostler.cli.event_loop import run_loop
from ostler.cli.options import json_option, open_for_reading
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.run.bar import draw_bar, has_blocks
from ostler.cli.terminal.text import display_width, format_table, format_timestamp, pad, to_one_line
from ostler.clock import SystemClock, format_local_time
from ostler.model.limits.limit import windows_for
from ostler.model.limits.titles import format_share, label_of
from ostler.model.policy.model_config import ModelConfig
from ostler.model.task import Task
from ostler.project.agents.account_rotation import describe_rotation
from ostler.project.agents.model_check import TIMEOUT_SECONDS, check_models
from ostler.project.agents.model_pool import find_models
from ostler.project.agents.retry_budget import describe_retry_budget
from ostler.project.preflight import check_executors
from ostler.project.project import Project
from ostler.store.accounts.sqlite import open_accounts
from ostler.views.agent_work.last_call import describe_last_call
from ostler.views.limits import WindowView, view_limits
from ostler.views.models import (
    ModelStatus,
    ModelView,
    ProbeResult,
    as_json,
    pool_of,
    view_models,
)

HEADER = ("name", "state", "limit", "last call", "answer", "executor", "model", "cost", "pool", "account")
OPTIONAL = ("cost", "pool", "executor", "account", "last call", "model")
_BAR_COLUMNS = 6
COLOURS = {"ready": "green", "disabled": "dim", "unusable": "red", "down": "red"}


@click.command("models")
@click.option(
    "--check", is_flag=True, help=f"Send each model a short prompt; waits at most {TIMEOUT_SECONDS:.0f} s."
)
@json_option
def command(check: bool, as_json: bool) -> int:
    """List the models and whether each one is available.

    With --check, exits with 1 when no model answers.
    """
    now = SystemClock.now()
    with open_for_reading() as project:
        views = _load_views(project, now)
        if check:
            views = _check_models(project, views, now)
        retries, rotation = describe_retry_budget(project, now), describe_rotation(project, views)
    healthy = not check or any(view.answer and view.answer.ok for view in views)
    if as_json:
        _print_json(views, healthy, retries, rotation)
    else:
        _print_table(views, now)
        for text in filter(None, (retries, rotation)):
            print_text(f"\n{text}")
    if not healthy:
        print_hint("\nostler: no model answered\n        ostler doctor")
    return 0 if healthy else 1


def _load_views(project: Project, now: float) -> list[ModelView]:
    # A task without role, model or executor may use every model.
    pool = find_models(project, Task("", role=""))
    refused = check_executors(project, {config.executor for config in pool.models})
    last_calls = project.store.read_last_calls().by_model
    with (
        closing(project.store.open_ledger()) as ledger,
        closing(open_accounts(os.environ, print_hint)) as accounts,
    ):
        limits, stop_at = accounts.limits(now), stop_threshold(project.settings.limits)
        known = view_limits(limits, accounts.windows(now), now, models=pool.models, stop_at=stop_at)
        return view_models(pool, limits, ledger.cooldowns(now), refused, last_calls, known.accounts)


def _check_models(project: Project, views: list[ModelView], now: float) -> list[ModelView]:
    """Call each model that can be used; skip those whose provider reported a limit."""
    configs = [view.config for view in views if _can_check(view.status, now)]
    if configs:
        names = ", ".join(config.name for config in configs)
        print_hint(f"Checking {names}, at most {TIMEOUT_SECONDS:.0f} s each ...\n")
    answers = run_loop(check_models(project, configs, os.environ, on_problem=print_hint))
    _reopen([config for config in configs if config.name in answers and answers[config.name].ok])
    # The answers have closed windows or opened them.
    views = _load_views(project, SystemClock.now()) if configs else views
    return [replace(view, answer=answers.get(view.config.name)) for view in views]


def _reopen(configs: list[ModelConfig]) -> None:
    """End the limits of the models that answered, so that tasks continue."""
    with closing(open_accounts(os.environ, print_hint)) as accounts:
        for window in (window for config in configs for window in windows_for(config)):
            accounts.end_limits(window)


def _can_check(status: ModelStatus, now: float) -> bool:
    due = status.until is None or status.until <= now
    return status.state in ("ready", "cooldown", "down") or (status.state == "limited" and due)


def _print_json(views: list[ModelView], healthy: bool, retries: str, rotation: str) -> None:
    models = [as_json(view) for view in views]
    notes = {"retries": retries, "rotation": rotation}
    print_json({"schema": "ostler.models/1", "ok": healthy, "models": models, **notes})


def _print_table(views: list[ModelView], now: float) -> None:
    colours = [COLOURS.get(view.status.state, "yellow") for view in views]
    print_text(format_table(HEADER, [_format_row(view, now) for view in views], colours, OPTIONAL))
    reasons = [(to_one_line(view.config.name), reason) for view in views if (reason := _find_reason(view))]
    columns = max((display_width(name) for name, _ in reasons), default=0)
    for number, (name, reason) in enumerate(reasons):
        print_text(("" if number else "\n") + f"{pad(name, columns)}  {reason}")


def _format_row(view: ModelView, now: float) -> tuple[str, ...]:
    config = view.config
    return (
        to_one_line(config.name),
        _format_state(view.status, now),
        _format_window(view.window),
        describe_last_call(view.last_call, now),
        _format_answer(view.answer),
        config.executor,
        to_one_line(config.model) or "default",
        str(config.cost_weight),
        pool_of(config),
        to_one_line(label_of(config)),
    )


def _format_window(window: WindowView | None) -> str:
    """Return the fullest window of a model as a short bar, with its reset."""
    if window is None:
        return ""
    bar = draw_bar(window.used or 0.0, _BAR_COLUMNS, is_ascii=not has_blocks(sys.stdout))
    reset = f", resets {format_timestamp(window.resets_at)}" if window.resets_at else ""
    return f"{bar} {format_share(window.used).rjust(5)}  {to_one_line(window.title)}{reset}"


def _format_state(status: ModelStatus, now: float) -> str:
    label = status.state.replace("_", " ")
    if status.until is None:
        return label
    if status.state == "down" and status.until > now:
        return f"{label}, next probe {format_local_time(status.until, now)}"
    return (
        f"{label} until {format_local_time(status.until, now)}" if status.until > now else f"{label}, now due"
    )


def _format_answer(answer: ProbeResult | None) -> str:
    if answer is None:
        return ""
    return f"{answer.seconds:.1f} s" if answer.ok else str(answer.code)


def _find_reason(view: ModelView) -> str:
    """Return why a model is not ready or did not answer; empty when it is ready."""
    if view.answer is not None and not view.answer.ok:
        return to_one_line(view.answer.message)
    status = view.status
    if status.state == "cooldown":
        return to_one_line(f"{status.failures} x {status.code}: {status.message}".removesuffix(": "))
    if status.state == "ready" and view.last_call and view.last_call.code:
        return to_one_line(view.last_call.message)
    return to_one_line(status.message) if status.state != "ready" else ""

"""Print the plan of `ostler run --dry-run`."""

from __future__ import annotations

import os
import shlex
import time

from msgspec import to_builtins

from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.text import escape_controls, format_count, wrap_hanging
from ostler.model.policy.sandbox import describe_sandbox
from ostler.model.task import Task
from ostler.project.dry_run import DryRun, plan_dry_run
from ostler.project.project import Project
from ostler.project.tasks.forecast import forecast_requests


def print_dry_runs(project: Project, tasks: list[Task], as_json: bool) -> int:
    """Print the first attempt of each task without running it."""
    plans = [plan_dry_run(project, task, os.environ) for task in tasks]
    forecast = forecast_requests(project, tasks, os.environ, time.time())
    for plan in plans:
        if as_json:
            print_json({"schema": "ostler.plan/1", **to_builtins(plan), "forecast": forecast})
        else:
            print_text(_format_plan(plan))
    if forecast is not None and not as_json:
        print_text(wrap_hanging(escape_controls(f"Forecast: {forecast.text}."), len("Forecast: ")))
    if not plans and not as_json:
        print_text("Nothing to run.  Next: ostler status")
    return 0


def _format_plan(plan: DryRun) -> str:
    facts = {
        "agent": plan.executor,
        "model": plan.model or "the agent's default",
        "models": f"{', '.join(plan.models)}; at most {format_count(plan.max_calls, 'call')}",
        "skipped": "; ".join(f"{name}: {reason}" for name, reason in plan.skipped.items()),
        "pool": plan.pool,
        "directory": plan.directory,
        "branch": plan.branch or "none (works in place)",
        "sandbox": f"{plan.sandbox_error or describe_sandbox(plan.sandbox)}; permissions {plan.permissions}",
        "command": shlex.join(plan.argv) if plan.argv else "none",
        "variables": " ".join(plan.environment),
    }
    shown = {name: escape_controls(value) for name, value in facts.items() if value}
    lines = [plan.id, "", *(f"  {name:<9} {value}" for name, value in shown.items())]
    lines += ["", *(f"  | {escape_controls(line)}" for line in plan.prompt.splitlines()), ""]
    return "\n".join(lines)

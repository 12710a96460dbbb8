"""What `ostler run --dry-run` prints."""

from __future__ import annotations

import os
import shlex

from msgspec import to_builtins

from ostler.cli.out import emit, say
from ostler.cli.text import printable
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.rehearsal import Rehearsal, rehearse


def print_plans(project: Project, tasks: list[Task], as_json: bool) -> int:
    """The first attempt at each task, as it would be made."""
    plans = [rehearse(project, task, os.environ) for task in tasks]
    for plan in plans:
        if as_json:
            emit({"schema": "ostler.plan/1", **to_builtins(plan)})
        else:
            say(_page(plan))
    if not plans and not as_json:
        say("Nothing to run.  ostler status shows all tasks.")
    return 0


def _page(plan: Rehearsal) -> str:
    facts = {
        "agent": plan.executor,
        "model": plan.model or "the agent's own choice",
        "models": f"{', '.join(plan.models)}; at most {plan.most_calls} calls",
        "pool": plan.pool,
        "directory": plan.directory,
        "branch": plan.branch or "none: in place",
        "command": shlex.join(plan.argv) if plan.argv else "none",
        "variables": " ".join(plan.environment),
    }
    lines = [plan.id, "", *(f"  {name:<9} {printable(value)}" for name, value in facts.items())]
    lines += ["", *(f"  | {printable(line)}" for line in plan.prompt.splitlines()), ""]
    return "\n".join(lines)

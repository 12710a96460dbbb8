"""A project with several models: fakes of several agents that write into one ledger."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from ostler.model.task import Task
from ostler.project.project import Project
from ostler.testing.fake_agent import fake_agent
from world import World

Row = dict[str, object]

QUICK = """
[retry]
base_delay_seconds = 0.01
jitter = 0.0
[host]
start_stagger_seconds = 0.0
"""


def play(world: World, program: str, **behaviour: object) -> None:
    """Set how the fake of this program acts from now on."""
    launcher = fake_agent(world.agents, program, **{"ledger": str(world.ledger), **behaviour})
    world.environ[f"OSTLER_{program.upper()}_PATH"] = str(launcher)


def write_models(world: World, *rows: Row, more: str = QUICK) -> None:
    """Write the settings: these [[models]], in this order, and other settings."""
    (world.root / "ostler.toml").write_text("\n".join(map(_table, rows)) + more)


def row(name: str, executor: str, model: str = "", **more: object) -> Row:
    return {"name": name, "executor": executor, "model": model or f"model-of-{name}", **more}


def called(world: World) -> list[str]:
    """Return the started programs and their models, call by call."""
    return [f"{line['program']} {_model(line['arguments'])}" for line in world.started()]


def add_tasks(world: World, count: int, **more: Any) -> list[str]:
    """Add many tasks at once."""
    with Project.open(world.root, world.environ, create=True) as project:
        return [project.add(Task(f"Task {number}", **more)).id for number in range(count)]


def statuses(world: World) -> Counter[str]:
    """Return the number of tasks of each status."""
    with Project.open(world.root, world.environ) as project:
        return Counter(str(view.status) for view in project.tasks())


def codes(shown: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return the executor and the code of each attempt."""
    return [(attempt["executor"], attempt["code"]) for attempt in shown["attempts"]]


def _model(arguments: list[str]) -> str:
    named = [arguments[place + 1] for place, one in enumerate(arguments) if one in ("--model", "-m")]
    return named[-1] if named else ""


def _table(row: Row) -> str:
    lines = (f"{key} = {json.dumps(value)}" for key, value in row.items())
    return "\n".join(("[[models]]", *lines)) + "\n"

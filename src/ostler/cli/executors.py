"""ostler executors"""

from __future__ import annotations

import click
from msgspec import to_builtins

from ostler.cli.out import emit, json_option, open_project, say
from ostler.cli.text import table
from ostler.executors.protocol import Capabilities
from ostler.project.roster import Entry, roster


@click.command("executors")
@json_option
def command(as_json: bool) -> None:
    """The agents that tasks can be given to: which are here, and what each can do."""
    with open_project(create=True) as project:
        entries = roster(project.settings)
    if as_json:
        emit({"schema": "ostler.executors/1", "executors": to_builtins(entries)})
        return
    say(table(("executor", "here", "can", "program, or how to get it"), [_row(entry) for entry in entries]))


def _row(entry: Entry) -> tuple[str, str, str, str]:
    here = "yes" if entry.problem == "" else "no"
    return (entry.name, here, _abilities(entry.capabilities), entry.problem or entry.type)


def _abilities(can: Capabilities) -> str:
    words = {
        "resume": can.resumes,
        "own ids": can.takes_our_id,
        "tokens": can.reports_usage,
        "cost": can.reports_cost,
    }
    return ", ".join(word for word, holds in words.items() if holds) or "-"

"""ostler executors"""

from __future__ import annotations

import os
from pathlib import Path

import click
from msgspec import to_builtins

from ostler.cli.out import emit, json_option, say
from ostler.cli.text import printable, table
from ostler.config.find import find_root
from ostler.config.load import load_settings
from ostler.executors.health import State
from ostler.executors.protocol import Capabilities
from ostler.project.roster import Entry, probe_roster, roster

_COLOURS = {State.HEALTHY: "green", State.NOT_FOUND: "dim"}


@click.command("executors")
@json_option
def command(as_json: bool) -> None:
    """The agents that tasks can be given to: which are here, and what each can do."""
    here = Path.cwd()
    root = find_root(here, os.environ) or here
    entries = probe_roster(roster(load_settings(root, os.environ, {}).settings))
    if as_json:
        emit({"schema": "ostler.executors/1", "executors": to_builtins(entries)})
        return
    header = ("executor", "state", "version", "can", "program, or how to get it")
    colours = [_COLOURS.get(entry.state, "yellow") for entry in entries]
    say(table(header, [_row(entry) for entry in entries], colours, spare=("can",)))


def _row(entry: Entry) -> tuple[str, str, str, str, str]:
    last = printable(entry.problem.removeprefix("install it with: ") or entry.path or entry.type)
    return (entry.name, entry.state.replace("_", " "), entry.version, _abilities(entry.capabilities), last)


def _abilities(can: Capabilities) -> str:
    words = {
        "resume": can.resumes,
        "own ids": can.takes_our_id,
        "tokens": can.reports_usage,
        "cost": can.reports_cost,
        "schema": can.structured_output,
        "own sandbox": can.own_sandbox,
    }
    return ", ".join(word for word, holds in words.items() if holds) or "-"

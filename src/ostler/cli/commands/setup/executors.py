"""ostler executors"""

from __future__ import annotations

import os
from pathlib import Path

import click
from msgspec import to_builtins
from msgspec.structs import replace

from ostler.cli.options import json_option
from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.text import escape_controls, format_table
from ostler.clock import SystemClock
from ostler.config.find import find_root
from ostler.config.load import load_settings
from ostler.executors.health import HealthState
from ostler.executors.protocol import Capabilities
from ostler.files.layout import Layout
from ostler.project.agents.executors import ExecutorStatus, list_executors, probe_executors
from ostler.project.stores import find_store
from ostler.views.agent_work.last_call import describe_last_call, last_call_json

_COLOURS = {HealthState.HEALTHY: "green", HealthState.NOT_FOUND: "dim"}


@click.command("executors")
@json_option
def command(as_json: bool) -> None:
    """List the executors: which agents are installed and what each one supports."""
    here = Path.cwd()
    root = find_root(here, os.environ) or here
    entries = probe_executors(list_executors(load_settings(root, os.environ, {}).settings))
    last_calls, now = find_store(Layout(root), os.environ).read_last_calls().by_executor, SystemClock.now()
    entries = [replace(entry, last_call=last_calls.get(entry.name)) for entry in entries]
    if as_json:
        listed = [{**to_builtins(entry), "last_call": last_call_json(entry.last_call)} for entry in entries]
        print_json({"schema": "ostler.executors/1", "executors": listed})
        return
    header = ("executor", "state", "last call", "version", "supports", "program or install command")
    colours = [_colour(entry) for entry in entries]
    print_text(
        format_table(header, [_format_row(entry, now) for entry in entries], colours, optional=("supports",))
    )


def _colour(entry: ExecutorStatus) -> str:
    failed = entry.last_call is not None and entry.last_call.code is not None
    return "yellow" if failed else _COLOURS.get(entry.state, "yellow")


def _format_row(entry: ExecutorStatus, now: float) -> tuple[str, ...]:
    last = escape_controls(entry.problem.removeprefix("install it with: ") or entry.path or entry.type)
    return (
        entry.name,
        entry.state.replace("_", " "),
        describe_last_call(entry.last_call, now),
        entry.version,
        _format_capabilities(entry.capabilities),
        last,
    )


def _format_capabilities(can: Capabilities) -> str:
    features = {
        "resume": can.resumes,
        "session ids": can.accepts_session_id,
        "tokens": can.reports_usage,
        "cost": can.reports_cost,
        "schema": can.structured_output,
        "own sandbox": can.own_sandbox,
    }
    return ", ".join(feature for feature, supported in features.items() if supported) or "-"

"""ostler gates"""

from __future__ import annotations

import click
from msgspec import to_builtins

from ostler.cli.options import json_option, open_for_reading, open_project
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import format_table, format_timestamp, to_one_line
from ostler.project.gates import GateSummary, accept_gate, list_gates

_HEADER = ("gate", "control", "isolation", "checked", "accepted", "command")
_NO_GATES = "No command gates.  Next: add one to [gates.commands] in ostler.toml."


@click.group("gates", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the command gates and whether each one can fail; accept one that cannot.

    The control of a gate breaks a copy of a commit that passed, and runs the command on it: a gate that
    passes anyway does not check the work.
    """
    if context.invoked_subcommand is not None:
        return
    with open_for_reading() as project:
        gates = list_gates(project)
    if as_json:
        print_json({"schema": "ostler.gates/1", "gates": [to_builtins(gate) for gate in gates]})
    elif not gates:
        print_text(_NO_GATES)
    else:
        colours = ["yellow" if _needs_person(gate) else "" for gate in gates]
        rows = [_format_row(gate) for gate in gates]
        print_text(format_table(_HEADER, rows, colours, optional=("isolation", "checked", "accepted")))
        for gate in filter(_needs_person, gates):
            next_step = f"Next: correct its command, or: ostler gates accept {gate.name}"
            print_hint(f"{gate.name} does not check the work.  {next_step}")


@command.command("accept")
@click.argument("name")
@json_option
def accept_command(name: str, as_json: bool) -> None:
    """Use the verdicts of the gate NAME although its command cannot fail.

    NAME is the phase of the gate. A changed command has to be accepted again.
    """
    with open_project() as project:
        done = accept_gate(project, name)
    if as_json:
        print_json({"schema": "ostler.gate/1", **to_builtins(done.gate), "waiting": list(done.waiting)})
        return
    print_text(f"Accepted the gate {name}: `{to_one_line(done.gate.command)}`.")
    if done.waiting:
        print_hint(f"Next: ostler approve {' '.join(done.waiting)}")


def _needs_person(gate: GateSummary) -> bool:
    return gate.cannot_fail and gate.accepted_by is None


def _format_row(gate: GateSummary) -> tuple[str, ...]:
    return (
        gate.name,
        gate.control or "not run yet",
        gate.isolation or "",
        format_timestamp(gate.checked_at) if gate.checked_at else "",
        gate.accepted_by or "",
        to_one_line(gate.command),
    )

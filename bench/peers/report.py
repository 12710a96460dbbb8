"""Writes bench/PEERS.md and the table in docs/comparison.md."""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from typing import Literal

from msgspec import Struct

from peers.measures import Finished, Survival
from peers.systems import SYSTEMS, System

ROOT = Path(__file__).parents[2]
RUST = "ralph-orchestrator in Rust | 2.10.1 | not measured: its npm package fetches the program from GitHub"
BUSY = 2.0
BEGIN, END = "<!-- make peers: begin -->", "<!-- make peers: end -->"
HEADER = """# Other systems

`make peers` writes this file. Every system does the same task with the same agent: a shell script named
`claude` that answers at once in claude's formats, about 1 ms. Each has its own defaults, its own installation
and a network in which only loopback exists. The systems take turns; times are minimum / median / maximum. A
task has ended when its command has ended and the system has recorded the task as completed. Memory (PSS) is
that of all processes that the system started, except the agent. The price of a further call is the difference
between a task of five calls and one of one, for each call more.

"""


class Peer(Struct, frozen=True):
    """What was measured of one system; None where it did not do what is measured."""

    version: str
    missing: str = ""  # why it could not be installed
    start: list[float] = []
    one: list[Finished] = []
    many: list[Finished] = []
    memory: float | None = None
    leaves_daemon: bool | None = None
    survival: Survival | None = None
    hang: str = ""


class Measured(Struct, frozen=True):
    """Everything that is written."""

    peers: dict[str, Peer]
    machine: str
    runs: dict[str, str]  # when each part was measured, and how busy the machine was


def write(measured: Measured) -> None:
    shown = [(one, measured.peers[one.name]) for one in SYSTEMS if one.name in measured.peers]
    there = [(system, peer) for system, peer in shown if not peer.missing]
    lines = [
        HEADER,
        "| machine | |\n|---|---|\n" + measured.machine,
        "| measured | date | load before | after | took |\n|---|---|---|---|---|",
        *measured.runs.values(),
        "",
        "| system | version | remark |\n|---|---|---|",
        *(f"| {system.name} | {peer.version} | {system.note} |" for system, peer in there),
        *(
            f"| {system.name} | {peer.version} | not installed: {peer.missing} |"
            for system, peer in shown
            if peer.missing
        ),
        f"| {RUST} |",
        "",
        table(there, dated=""),
        "",
        "| system | what a further call is |\n|---|---|",
        *(f"| {system.name} | {system.further} |" for system, _ in there),
        "",
        "The agent of the row about `kill -9` edits a file for three minutes and reads nothing: a real agent",
        "may end earlier, when its output is closed.",
        "",
    ]
    (ROOT / "bench/PEERS.md").write_text("\n".join(lines))
    comparison = ROOT / "docs/comparison.md"
    dated = f"\n{circumstances(measured)}\n"
    new = f"{BEGIN}\n\n{table(there, dated)}\n{END}"
    comparison.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: new, comparison.read_text(), flags=re.DOTALL))


def circumstances(measured: Measured) -> str:
    """When it was measured, and what a busy machine does to the figures."""
    if not measured.runs:
        return ""
    cells = [run.strip("| ").split(" | ") for run in measured.runs.values()]
    loads = [float(load) for _, _, before, after, _ in cells for load in (before, after)]
    text = f"Measured on {max(cell[1] for cell in cells)[:10]}, load {min(loads):.0f} to {max(loads):.0f}."
    if max(loads) <= BUSY:
        return text
    return f"{text} The machine was busy: times include the wait for other work, CPU times and memory do not."


def table(shown: list[tuple[System, Peer]], dated: str) -> str:
    """One column for each system."""
    rows = {
        "version": [peer.version for _, peer in shown],
        "one task, end to end": [spread([one.seconds for one in peer.one]) for _, peer in shown],
        "its CPU time, the agent included": [
            seconds(min(one.cpu for one in peer.one)) if peer.one else "-" for _, peer in shown
        ],
        "agent calls of that task": [calls(peer.one) for _, peer in shown],
        "a further call": [further(peer, "seconds") for _, peer in shown],
        "its CPU time": [further(peer, "cpu") for _, peer in shown],
        "memory of the orchestrator": [
            "-" if peer.memory is None else f"{peer.memory:.0f} MB" for _, peer in shown
        ],
        "start-up: `--help`": [spread(peer.start) for _, peer in shown],
        "a daemon that the agent started": [left(peer.leaves_daemon) for _, peer in shown],
        "after `kill -9` of the orchestrator": [survived(peer.survival) for _, peer in shown],
        "an agent that hangs after its result": [peer.hang or "-" for _, peer in shown],
    }
    head = f"| | {' | '.join(system.name for system, _ in shown)} |\n|---|{'---|' * len(shown)}"
    return "\n".join([head, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()), dated])


def spread(values: list[float]) -> str:
    if not values:
        return "not completed"
    points = (min(values), statistics.median(values), max(values)) if len(values) > 1 else values
    scale, unit, digits = (1, "s", 1) if min(values) >= 1 else (1e3, "ms", 0)
    return f"{' / '.join(f'{point * scale:.{digits}f}' for point in points)} {unit}"


def calls(tasks: list[Finished]) -> str:
    return str(min(one.calls for one in tasks)) if tasks else "-"


def further(peer: Peer, what: Literal["seconds", "cpu"]) -> str:
    """The minima are subtracted, as in whole_task.py."""
    if not peer.one or not peer.many:
        return "not completed"
    more = min(one.calls for one in peer.many) - min(one.calls for one in peer.one)
    if more <= 0:
        return "-"
    one, many = (min(getattr(task, what) for task in tasks) for tasks in (peer.one, peer.many))
    return seconds((many - one) / more) if many > one else "less than the spread"


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{value * 1e3:.0f} ms"


def left(daemon: bool | None) -> str:
    return {None: "-", True: "keeps running", False: "is stopped"}[daemon]


def survived(survival: Survival | None) -> str:
    if survival is None:
        return "-"
    if survival.after_kill == 0:
        again = "resumes" if survival.after_restart else "starts no agent in three times its usual start"
        return f"the agent is stopped; the next start {again}"
    if survival.after_restart > survival.after_kill:
        return "the agent keeps editing; the next start adds a second agent"
    return "the agent keeps editing; the next start adds none in three times its usual start"

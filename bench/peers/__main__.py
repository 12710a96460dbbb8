"""Measure all systems and write bench/PEERS.md and the table of docs/comparison.md: make peers.

Arguments name the systems to measure; the others keep their values of the last time. --times and
--behaviour measure only that part.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from peers import measures
from peers.install import install
from peers.isolation import INSIDE, enter
from peers.report import Measured, Peer, write
from peers.systems import SYSTEMS, System, named
from run import describe_machine

T = TypeVar("T")
KEPT = Path(__file__).with_name("measured.json")
ROUNDS, SLOW_ROUNDS, SLOW_SECONDS, MANY = 3, 1, 8.0, 5


def main() -> None:
    parts = [part for part in PARTS if f"--{part}" in sys.argv] or list(PARTS)
    systems = named([word for word in sys.argv[1:] if not word.startswith("--")])
    if os.environ.get(INSIDE) != "1":
        reasons = {one.name: install(one) for one in systems}
        os.environ["OSTLER_PEERS_MISSING"] = msgspec.json.encode(reasons).decode()
    enter("peers")
    missing = msgspec.json.decode(os.environ["OSTLER_PEERS_MISSING"], type=dict[str, str])
    there = [one for one in systems if not missing[one.name]]
    keep({one.name: {"missing": missing[one.name]} for one in systems}, "")
    for part in parts:
        began, load = time.monotonic(), os.getloadavg()
        measured = PARTS[part](there)
        when = (
            f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())} | {load[0]:.1f} | {os.getloadavg()[0]:.1f}"
        )
        keep(measured, f"| {part} | {when} | {time.monotonic() - began:.0f} s |")


def keep(measured: dict[str, dict[str, Any]], run: str) -> None:
    """Replace what was measured; the rest keeps its values of the last time."""
    old = msgspec.json.decode(KEPT.read_bytes(), type=Measured) if KEPT.exists() else Measured({}, "", {})
    versions = {one.name: one.version for one in SYSTEMS}
    peers = {
        name: replace(old.peers.get(name, Peer(versions[name])), version=versions[name], **fields)
        for name, fields in measured.items()
    }
    part = run.split(" | ", maxsplit=1)[0].strip("| ")
    new = Measured(old.peers | peers, describe_machine(), old.runs | ({part: run} if run else {}))
    KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(new)) + b"\n")
    write(new)


def measure_times(systems: list[System]) -> dict[str, dict[str, Any]]:
    """In every round the systems take turns."""
    starts = rounds(systems, measures.start_up)
    ones = rounds(systems, lambda system: measures.run_task(system, 1))
    many = rounds(systems, lambda system: measures.run_task(system, MANY))
    return {
        one.name: {"start": starts[one.name], "one": ones[one.name], "many": many[one.name]}
        for one in systems
    }


def measure_behaviour(systems: list[System]) -> dict[str, dict[str, Any]]:
    return {
        one.name: {
            "memory": attempt(one, measures.memory),
            "leaves_daemon": attempt(one, measures.leaves_daemon),
            "survival": attempt(one, measures.survival),
            "hang": attempt(one, measures.hang) or "",
        }
        for one in systems
    }


PARTS = {"times": measure_times, "behaviour": measure_behaviour}


def rounds(systems: list[System], work: Callable[[System], T]) -> dict[str, list[T]]:
    """The values of each system; a system that takes long has fewer rounds, one that fails has none."""
    values: dict[str, list[T]] = {one.name: [] for one in systems}
    slow: set[str] = set()
    failed: set[str] = set()
    for number in range(ROUNDS):
        for system in systems:
            if system.name in failed or (system.name in slow and number >= SLOW_ROUNDS):
                continue
            began = time.monotonic()
            if (value := attempt(system, work)) is not None:
                values[system.name].append(value)
            else:
                failed.add(system.name)
            if time.monotonic() - began > SLOW_SECONDS:
                slow.add(system.name)
    return values


def attempt(system: System, work: Callable[[System], T]) -> T | None:
    """A system that does not do what is measured has no value."""
    try:
        value = work(system)
    except TimeoutError as error:
        print(error, file=sys.stderr)
        return None
    print(f"{system.name}: {value}", file=sys.stderr)
    return value


if __name__ == "__main__":
    main()

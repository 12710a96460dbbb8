"""Measure every curve and write docs/performance.md: make growth. Arguments name the curves to measure."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from growth.curve import Curve
from growth.page import write_page
from run import describe_machine

HERE = Path(__file__).parent
MODULES = ("tasks", "events", "agents", "files", "transcripts", "day")
KEPT = HERE / "measured.json"


class Measured(msgspec.Struct, frozen=True):
    """What the page is made from."""

    curves: dict[str, list[Curve]]
    machine: str
    runs: dict[str, str] = {}  # when each was measured, and how busy the machine was


def main() -> None:
    """Curves that are not named keep their values of the last time."""
    for name in sys.argv[1:] or MODULES:
        began, load = time.monotonic(), os.getloadavg()
        curves = run_module(name)
        took = time.monotonic() - began
        # Read again, because others may have been measured in the meantime.
        kept = msgspec.json.decode(KEPT.read_bytes(), type=Measured) if KEPT.exists() else Measured({}, "")
        run = (
            f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())} | {load[0]:.1f} | {os.getloadavg()[0]:.1f}"
        )
        measured = Measured(
            kept.curves | {name: curves}, describe_machine(), kept.runs | {name: f"{run} | {took:.0f} s"}
        )
        KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(measured)) + b"\n")
        write(measured)


def write(measured: Measured) -> None:
    runs = [f"| {name} | {measured.runs[name]} |" for name in MODULES if name in measured.runs]
    curves = [curve for name in MODULES for curve in measured.curves.get(name, [])]
    write_page(measured.machine, runs, curves)


def run_module(name: str) -> list[Curve]:
    """Run one module in its own process, so that it inherits no memory of another."""
    code = f"""
import msgspec, sys
from growth import {name}
sys.stdout.buffer.write(msgspec.json.encode({name}.measure()))"""
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE.parent, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=list[Curve])


if __name__ == "__main__":
    main()

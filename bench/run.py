"""Run every benchmark and write RESULTS.md: make bench."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from measure import Result

HERE = Path(__file__).parent
SCRIPTS = (
    "p1_supervised",
    "p2_claude",
    "p3_stream",
    "p4_sdk",
    "p5_journal",
    "p6_checkpoint",
    "p7_density",
    "p8_stop",
    "p9_recovery",
    "p10_start",
    "p11_worktree",
    "p12_feed",
    "p13_tasks",
    "p14_output",
    "p15_sandbox",
    "whole_task",
)
HEADER = """# Measured

`make bench` writes this file. Ours and the baseline take turns in one run. The columns "ours" and "baseline"
show minimum / median / maximum of the rounds. The figure compares the minima of a time and the maxima of a
rate; for memory, threads and leftovers it is the largest value. E2E is a whole `ostler run` with an agent
that answers at once in claude's format. Other work on the machine shows in the load, and in every figure
except the instruction counts of P10.

| machine | |
|---|---|
"""
TABLE = """
| goal | what | ours | baseline | figure | target | met |
|---|---|---|---|---|---|---|
"""


def main() -> None:
    began, load = time.monotonic(), os.getloadavg()
    results = [result for script in SCRIPTS for result in run_script(script)]
    (HERE / "RESULTS.md").write_text(HEADER + machine(load, time.monotonic() - began) + TABLE + rows(results))
    met = sum(result.met for result in results)
    print(f"{met} of {len(results)} targets met; bench/RESULTS.md is written")


def run_script(script: str) -> list[Result]:
    """Run one script in its own process, so that it inherits no memory and no children of another."""
    code = f"import {script}, msgspec, sys; sys.stdout.buffer.write(msgspec.json.encode({script}.measure()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, stdout=subprocess.PIPE, check=True)
    results = msgspec.json.decode(done.stdout, type=list[Result])
    for result in results:
        print(result.line, flush=True)
    return results


def machine(load: tuple[float, float, float], took: float) -> str:
    facts = {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cores": os.cpu_count(),
        "processor": processor(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load before, after": f"{load[0]:.2f}, {os.getloadavg()[0]:.2f}",
        "took": f"{took:.0f} s",
    }
    return "".join(f"| {name} | {fact} |\n" for name, fact in facts.items())


def processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def rows(results: list[Result]) -> str:
    return "".join(row(result) for result in results)


def row(result: Result) -> str:
    cells = (result.goal, result.name, result.ours, result.baseline, result.shown, result.target)
    return f"| {' | '.join(cells)} | {result.verdict} |\n"


if __name__ == "__main__":
    main()

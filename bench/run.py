"""Run every benchmark and write RESULTS.md: make bench. Arguments name the scripts that are run again."""

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
KEPT = HERE / "results.json"
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
    "p18_response",
    "p19_lag",
    "p20_lists",
    "p23_gate",
    "whole_task",
)
HEADER = """# Measured

`make bench` writes this file; `make bench NAMES="p5_journal"` measures only these rows again. Ours and the
baseline take turns in one run. The columns "ours" and "baseline" show minimum / median / maximum of the
rounds. The figure compares the minima of a time and the maxima of a rate; for memory, threads and leftovers
it is the largest value, for P18 the median. E2E is a whole `ostler run` with an agent that answers at once
in claude's format. Other work on the machine shows in the load, and in every figure except the instruction
counts of P10.

| machine | |
|---|---|
"""
RUNS = """
| script | measured | load before, after | took |
|---|---|---|---|
"""
TABLE = """
| goal | what | ours | baseline | figure | target | met |
|---|---|---|---|---|---|---|
"""


class Measured(msgspec.Struct, frozen=True):
    """The rows of one script, and when they were measured."""

    results: list[Result]
    date: str
    load: str  # before and after
    took: str


def main() -> None:
    """Scripts that are not named keep their values of the last time."""
    kept = msgspec.json.decode(KEPT.read_bytes(), type=dict[str, Measured]) if KEPT.exists() else {}
    for script in sys.argv[1:] or SCRIPTS:
        began, load = time.monotonic(), os.getloadavg()
        results = run_script(script)
        date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        loads = f"{load[0]:.2f}, {os.getloadavg()[0]:.2f}"
        kept[script] = Measured(results, date, loads, f"{time.monotonic() - began:.0f} s")
        KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(kept)) + b"\n")
    there = {script: kept[script] for script in SCRIPTS if script in kept}
    results = [result for one in there.values() for result in one.results]
    runs = "".join(f"| {script} | {one.date} | {one.load} | {one.took} |\n" for script, one in there.items())
    page = HEADER + describe_machine() + TABLE + rows(results) + RUNS + runs
    (HERE / "RESULTS.md").write_text(page)
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


def describe_machine() -> str:
    facts = {
        "cores": str(os.cpu_count()),
        "processor": processor(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }
    return table(facts)


def table(facts: dict[str, str]) -> str:
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

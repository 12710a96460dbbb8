"""Command line: run all mutants, or those that are named, and print a table of results."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from mutants.run import Result, run_control, run_mutant
from mutants.table import Mutant, load_table


def main() -> int:
    table = load_table()
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a mutant of the table; default: all")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at the same time (default: 2)")
    parser.add_argument("--no-control", action="store_true", help="skip the run without a mutant")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the output of each run")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in table]:
        parser.error(f"no such mutant: {', '.join(unknown)}")
    chosen = [table[name] for name in asked.names] or list(table.values())
    began = time.monotonic()
    results = list(_run_all(chosen, asked.jobs, control=not asked.no_control, verbose=asked.verbose))
    bad = [result for result in results if not _is_expected(result)]
    names = {mutant.name for mutant in chosen}
    killed = sum(result.outcome == "killed" and result.name in names for result in results)
    print(f"{killed} of {len(chosen)} mutants killed in {time.monotonic() - began:.0f} s")
    return 1 if bad else 0


def _run_all(chosen: list[Mutant], jobs: int, *, control: bool, verbose: bool):
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(run_control, tests)] if control else []
        waiting += [pool.submit(run_mutant, mutant) for mutant in chosen]
        for done in as_completed(waiting):
            _show(done.result(), verbose)
            yield done.result()


def _show(result: Result, verbose: bool) -> None:
    print(f"{result.outcome:9} {result.seconds:6.1f} s  {result.name}", flush=True)
    if verbose or not _is_expected(result):
        print(result.output)


def _is_expected(result: Result) -> bool:
    return result.outcome == ("survived" if result.name == "(no mutant)" else "killed")


if __name__ == "__main__":
    sys.exit(main())

"""A process that uses a ledger and prints each result, line by line.

ledger_child.py DATABASE probe|try COUNT      be the one caller, for each of COUNT windows or models
ledger_child.py DATABASE spend COUNT          take retries, of which the hour has COUNT
ledger_child.py DATABASE note COUNT           record COUNT limits, failures and retries
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from journal_child import say, wait_for_the_others
from ostler.errors import Code
from ostler.model.limits.limit import Probe
from ostler.model.limits.window import Window
from ostler.store.sqlite_ledger import SqliteLedger

NOW = 1_700_000_000.0
WHO = str(os.getpid())


def probe(ledger: SqliteLedger, count: int) -> None:
    for number in range(count):
        if isinstance(ledger.admit([Window("p", str(number))], WHO, NOW), Probe):
            say(f"won {number}")


def attempt(ledger: SqliteLedger, count: int) -> None:
    for number in range(count):
        if ledger.check_cooldown(str(number), NOW) is None:
            say(f"won {number}")


def spend(ledger: SqliteLedger, count: int) -> None:
    while ledger.take_retry(NOW, count):
        say("won")


def note(ledger: SqliteLedger, count: int) -> None:
    for number in range(count):
        ledger.close_window(Window(WHO, str(number)), NOW + 9, Code.RATE_LIMITED, "", NOW)
        ledger.record_failure(f"{WHO}:{number}", Code.RATE_LIMITED, "", NOW, 3, 600)
        ledger.take_retry(NOW, count)
        say(f"ack {WHO}:{number}")


def main() -> None:
    verb, count = sys.argv[2], int(sys.argv[3])
    ledger = SqliteLedger(Path(sys.argv[1]), busy_timeout_seconds=60)
    if verb == "note":
        note(ledger, count)
    else:
        ledger.limits(NOW)
        wait_for_the_others()
        {"probe": probe, "try": attempt, "spend": spend}[verb](ledger, count)
    ledger.close()


if __name__ == "__main__":
    main()

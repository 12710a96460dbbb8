"""A process that uses a ledger and says on stdout, line by line, what it was told.

ledger_child.py DATABASE probe|try COUNT      be the one caller, for each of COUNT windows or choices
ledger_child.py DATABASE spend COUNT          take repeats, of which the hour has COUNT
ledger_child.py DATABASE note COUNT           note COUNT limits, failures and repeats
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from journal_child import say, wait_for_the_others
from ostler.errors import Code
from ostler.model.limit import Probe, Window
from ostler.store.sqlite_ledger import SqliteLedger

NOW = 1_700_000_000.0
WHO = str(os.getpid())


def probe(ledger: SqliteLedger, count: int) -> None:
    for number in range(count):
        if isinstance(ledger.admit([Window("p", str(number))], WHO, NOW), Probe):
            say(f"won {number}")


def attempt(ledger: SqliteLedger, count: int) -> None:
    for number in range(count):
        if ledger.rest(str(number), NOW) is None:
            say(f"won {number}")


def spend(ledger: SqliteLedger, count: int) -> None:
    while ledger.spend_repeat(NOW, count):
        say("won")


def note(ledger: SqliteLedger, count: int) -> None:
    for number in range(count):
        ledger.close_window(Window(WHO, str(number)), NOW + 9, Code.RATE_LIMITED, "", NOW)
        ledger.fail(f"{WHO}:{number}", Code.RATE_LIMITED, "", NOW, 3, 600)
        ledger.spend_repeat(NOW, count)
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

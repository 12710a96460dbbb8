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
from ostler.store.accounts.file import FILE_NAME
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.store.sql_ledger import SqlLedger
from ostler.store.sqlite.store import SqliteStore

NOW = 1_700_000_000.0
WHO = str(os.getpid())


def accounts_of(database: Path) -> Path:
    """Return the file of the accounts beside a project's database."""
    return database.with_name(FILE_NAME)


def probe(ledger: SqlLedger, accounts: SqliteAccounts, count: int) -> None:
    del ledger
    for number in range(count):
        if isinstance(accounts.admit([Window("p", str(number))], WHO, NOW), Probe):
            say(f"won {number}")


def attempt(ledger: SqlLedger, accounts: SqliteAccounts, count: int) -> None:
    del accounts
    for number in range(count):
        if ledger.check_cooldown(str(number), NOW) is None:
            say(f"won {number}")


def spend(ledger: SqlLedger, accounts: SqliteAccounts, count: int) -> None:
    del accounts
    while ledger.take_retry(NOW, count):
        say("won")


def note(ledger: SqlLedger, accounts: SqliteAccounts, count: int) -> None:
    for number in range(count):
        accounts.close_window(Window(WHO, str(number)), NOW + 9, Code.RATE_LIMITED, "", NOW)
        ledger.record_failure(f"{WHO}:{number}", Code.RATE_LIMITED, "", NOW, 3, 600)
        ledger.take_retry(NOW, count)
        say(f"ack {WHO}:{number}")


def main() -> None:
    verb, count = sys.argv[2], int(sys.argv[3])
    path = Path(sys.argv[1])
    ledger = SqliteStore(path, busy_timeout_seconds=60).open_ledger()
    accounts = SqliteAccounts(accounts_of(path))
    if verb == "note":
        note(ledger, accounts, count)
    else:
        ledger.cooldowns(NOW)
        accounts.limits(NOW)
        wait_for_the_others()
        {"probe": probe, "try": attempt, "spend": spend}[verb](ledger, accounts, count)
    ledger.close()
    accounts.close()


if __name__ == "__main__":
    main()

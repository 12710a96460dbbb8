"""The command that logs a person in to the agent of a task."""

from __future__ import annotations

from ostler.errors import Code
from ostler.model.attempt import TaskRow
from ostler.model.rows import decode_state
from ostler.store.journal import Journal


def find_login_command(row: TaskRow, journal: Journal) -> str:
    """Return the login command of the agent that was refused last; empty: not needed, or not known."""
    # Lists have many rows, and each state is decoded once for its view already.
    if Code.AUTH_FAILED.encode() not in row.state or decode_state(row).code is not Code.AUTH_FAILED:
        return ""
    from ostler.executors.discover import PROGRAMS  # noqa: PLC0415  (most tasks need no login)

    attempts = journal.attempts(row.id)
    name = attempts[-1].executor.removesuffix("-acp") if attempts else ""
    return next((program.login_command for program in PROGRAMS if program.name == name), "")

"""An answer that the journal could not record yet: kept in a file, so that no paid answer is lost.

The file is written only if the journal is locked when an agent has answered. If the run ends before it can
record the answer, the next run uses the file instead of calling the agent again.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.calls.attempts.journal import AttemptJournal
from ostler.calls.request import CallOutcome, CallRequest
from ostler.files.atomic import remake_private_dir, write_atomic
from ostler.model.attempt import Attempt

KEEP_AFTER_SECONDS = 1.0  # how long the journal may take, before the answer is kept in a file
_FILE = "unrecorded-answer.json"


class KeptAnswer(Struct, frozen=True):
    """The end of an attempt that is not in the journal."""

    key: str  # of the step
    attempt: Attempt
    outcome: CallOutcome


async def record_end(
    request: CallRequest, ended: Attempt, outcome: CallOutcome, journal: AttemptJournal
) -> None:
    """Record the end of an attempt; keep its answer in a file while the journal is locked."""
    recorded = asyncio.ensure_future(journal.end_attempt(ended))
    try:
        await asyncio.wait({recorded}, timeout=KEEP_AFTER_SECONDS)
    finally:
        # A cancelled call is called again by the next run, which finds the answer here.
        if outcome.result.ok and not recorded.done():
            kept = KeptAnswer(request.key, ended, outcome)
            remake_private_dir(request.task_dir, request.task_dir.parent.parent)
            write_atomic(request.task_dir / _FILE, msgspec.json.encode(kept))
    await recorded
    delete_kept_answer(request)


async def find_kept_answer(request: CallRequest, journal: AttemptJournal) -> CallOutcome | None:
    """Return the answer that an earlier run could not record for this step, and record its attempt."""
    kept = _read(request.task_dir / _FILE)
    if kept is None or kept.key != request.key:
        return None
    await journal.end_attempt(kept.attempt)
    delete_kept_answer(request)
    return kept.outcome


def delete_kept_answer(request: CallRequest) -> None:
    """Delete an answer that is recorded, or that of an earlier step."""
    (request.task_dir / _FILE).unlink(missing_ok=True)


def _read(path: Path) -> KeptAnswer | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=KeptAnswer)
    except (FileNotFoundError, msgspec.DecodeError):
        return None

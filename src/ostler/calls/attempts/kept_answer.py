"""An answer whose step is not recorded yet: kept in a file, so that no paid answer is lost.

The file is written before the end of the attempt is recorded and deleted after the step is. If the run ends
in between, the next run uses the file instead of calling the agent again. It is flushed together with the
work of the agent, and after a restart of the machine it is not used: the work may be lost, or damaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.attempts.journal import AttemptJournal
from ostler.calls.attempts.transcript import write_answer
from ostler.calls.request import CallOutcome, CallRequest
from ostler.errors import OstlerError
from ostler.files.atomic import (
    make_private_dir,
    remake_private_dir,
    sync_filesystem,
    write_atomic,
    write_projection,
)
from ostler.files.boot import read_boot_id
from ostler.files.disk import to_disk_error
from ostler.files.user_state import find_user_state
from ostler.model.attempt import Attempt
from ostler.model.ids import TaskId
from ostler.secrets.redact import redact_text
from ostler.waits import report_wait

_FILE = "unrecorded-answer.json"


class KeptAnswer(Struct, frozen=True):
    """The end of an attempt whose step is not in the journal."""

    key: str  # of the step
    attempt: Attempt
    outcome: CallOutcome
    boot: str = ""  # id of the boot since which it is valid; empty: of any, because the work is flushed too


class AnswerPlaces(NamedTuple):
    """Where the answer of a task is kept."""

    file: Path
    elsewhere: Path | None  # used if the disk of the project is full


def find_answer_places(
    task_dir: Path, task: TaskId, store_id: str, environ: Mapping[str, str]
) -> AnswerPlaces:
    """Return the file in the task's directory, and one in the user's directory for state."""
    state = find_user_state(environ)
    elsewhere = state / "answers" / f"{store_id}-{task}.json" if state else None
    return AnswerPlaces(task_dir / _FILE, elsewhere)


def keep_answer(request: CallRequest, ended: Attempt, outcome: CallOutcome, places: AnswerPlaces) -> bool:
    """Keep a successful answer until its step is recorded; return False if it cannot be written now."""
    if not outcome.result.ok or not request.keeps_answer:
        return True
    clean = replace(outcome, prompt=redact_text(outcome.prompt))  # its other texts are clean already
    # Not in a thread: a cancellation must not come between the answer and its file.
    return _write(KeptAnswer(request.key, ended, clean), places, Path(request.cwd))


def _write(kept: KeptAnswer, places: AnswerPlaces, work: Path) -> bool:
    try:
        remake_private_dir(places.file.parent, places.file.parent.parent.parent)
        write_projection(places.file, msgspec.json.encode(replace(kept, boot=read_boot_id())))
    except OstlerError as error:
        is_kept = _write_elsewhere(replace(kept, boot=_flush_work(work)), places.elsewhere)
        where = f"kept in {places.elsewhere}" if is_kept else "kept in memory, until there is space"
        report_wait(f"{error.message}; the answer is {where}")
        return is_kept
    return True


def _flush_work(work: Path) -> str:
    """Flush the work, as the machine may be restarted until there is space; return the id of a valid boot."""
    try:
        sync_filesystem(work)
    except OstlerError:
        return read_boot_id()
    return ""


def _write_elsewhere(kept: KeptAnswer, path: Path | None) -> bool:
    if path is None:
        return False
    try:
        make_private_dir(path.parent)
        write_atomic(path, msgspec.json.encode(kept))
    except OstlerError:
        return False
    return True


def has_kept_answer(request: CallRequest, places: AnswerPlaces) -> bool:
    """Return whether an earlier run received an answer for this step."""
    return _find(request, places) is not None


async def find_kept_answer(
    request: CallRequest, places: AnswerPlaces, journal: AttemptJournal
) -> CallOutcome | None:
    """Return the answer that an earlier run received for this step; its attempt is recorded if it is not."""
    kept = _find(request, places)
    if kept is None:
        return None
    answer = request.task_dir / kept.outcome.answer
    if kept.outcome.answer and not answer.exists():  # the run ended, or the disk was full, before
        write_answer(answer, kept.outcome.result.text, structured=kept.outcome.structured)
    await journal.end_attempt(kept.attempt)
    return kept.outcome


def delete_kept_answer(places: AnswerPlaces) -> None:
    """Delete the answer of a step that is recorded."""
    for path in places:
        if path is not None:
            _delete(path)


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # a step has its key only once, so a file that is left is never used
        return


def _find(request: CallRequest, places: AnswerPlaces) -> KeptAnswer | None:
    if not request.keeps_answer:
        return None
    wanted, boots = (request.task, request.key), ("", read_boot_id())
    found = (_read(path) for path in places if path is not None)
    kept = (one for one in found if one is not None and (one.attempt.task, one.key) == wanted)
    return next((one for one in kept if one.boot in boots), None)


def _read(path: Path) -> KeptAnswer | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=KeptAnswer)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    except OSError as error:
        raise to_disk_error(path, error) from error

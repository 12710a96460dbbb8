"""The sandbox of a call, and what it refused, in the record of the call."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ostler.calls.request import CallRequest
from ostler.engine.steps.services import StepServices
from ostler.errors import WarningCode
from ostler.model.event import CallEnded
from ostler.model.ids import TaskId
from ostler.model.sandbox import RefusalKind, RefusedAccess
from ostler.model.warning import MAX_NAMES, WarningDetail
from ostler.store.queries.refusals import count_refusals

_CODES: dict[RefusalKind, WarningCode] = {
    "network": WarningCode.NETWORK_REFUSED,
    "file": WarningCode.FILE_REFUSED,
    "push": WarningCode.PUSH_REFUSED,
}
_MARK = b'"access_refused"'


def add_sandbox(ended: CallEnded, request: CallRequest, services: StepServices) -> CallEnded:
    """Return the record with the sandbox and the permissions of the last attempt of the call."""
    started = services.journal.attempts(request.task)[len(request.attempts) :]
    last = next((one for one in reversed(started) if one.sandbox), None)
    return replace(ended, sandbox=last.sandbox, permissions=last.permissions) if last else ended


def find_refusals(after: int, task: TaskId, services: StepServices) -> tuple[WarningDetail, ...]:
    """Return what the sandbox refused since a position of the feed, as warnings of the task."""
    bodies: list[bytes] = []
    while lines := services.journal.feed(after, task):
        bodies += [body for line in lines if _MARK in (body := bytes(line.body))]
        after = lines[-1].position
    return describe_refusals(count_refusals(bodies))


def describe_refusals(refused: Iterable[RefusedAccess]) -> tuple[WarningDetail, ...]:
    """Return a warning for each refused access."""
    found = [WarningDetail(_CODES[one.kind], one.text) for one in refused]
    more = len(found) - MAX_NAMES
    return tuple(found) if more <= 0 else (*found[:MAX_NAMES], _describe_more(found[-1].code, more))


def _describe_more(code: str, count: int) -> WarningDetail:
    return WarningDetail(code, f"and {count} more, which ostler show lists")

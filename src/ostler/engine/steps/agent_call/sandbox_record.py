"""The sandbox of a call, what it refused, and what its agent reported, for the record of the call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from ostler.calls.request import CallRequest
from ostler.engine.steps.services import StepServices
from ostler.errors import WarningCode
from ostler.model.event import CallEnded
from ostler.model.ids import TaskId
from ostler.model.policy.sandbox import RefusalKind, RefusedAccess
from ostler.model.warning import MAX_NAMES, WarningDetail
from ostler.prompt.report import StateFileReport, parse_report
from ostler.store.journal import FEED_LIMIT
from ostler.store.queries.refusals import count_refusals

_CODES: dict[RefusalKind, WarningCode] = {
    "network": WarningCode.NETWORK_REFUSED,
    "file": WarningCode.FILE_REFUSED,
    "push": WarningCode.PUSH_REFUSED,
}
_REFUSED, _REPORTED = b'"access_refused"', b'"agent_reported"'


class FoundInFeed(NamedTuple):
    """What the notices of a call mean for its record."""

    refused: tuple[WarningDetail, ...]  # by the sandbox
    report: StateFileReport | None  # None: the agent reported no status


def add_sandbox(ended: CallEnded, request: CallRequest, services: StepServices) -> CallEnded:
    """Return the record with the sandbox and the permissions of the last attempt of the call."""
    started = services.journal.attempts(request.task)[len(request.attempts) :]
    last = next((one for one in reversed(started) if one.sandbox), None)
    return replace(ended, sandbox=last.sandbox, permissions=last.permissions) if last else ended


def read_feed(after: int, task: TaskId, services: StepServices, attempt: int = 0) -> FoundInFeed:
    """Return what the feed has since a position: refused accesses, and the last report of an attempt."""
    bodies: list[bytes] = []
    report: StateFileReport | None = None
    while lines := services.journal.feed(after, task):
        for body in (bytes(line.body) for line in lines):
            if _REFUSED in body:
                bodies.append(body)
            if _REPORTED in body:
                report = _decode_report(body, attempt) or report
        if len(lines) < FEED_LIMIT:
            break
        after = lines[-1].position
    return FoundInFeed(describe_refusals(count_refusals(bodies)), report)


def _decode_report(body: bytes, attempt: int) -> StateFileReport | None:
    """Return the status that the agent of this attempt reported with `ostler report`."""
    notice = msgspec.json.decode(body)
    if notice.get("type") != "agent_reported" or notice.get("attempt") != attempt:
        return None
    return StateFileReport(parse_report(notice["status"], notice.get("reason", "")))


def describe_refusals(refused: Iterable[RefusedAccess]) -> tuple[WarningDetail, ...]:
    """Return a warning for each refused access."""
    found = [WarningDetail(_CODES[one.kind], one.text) for one in refused]
    more = len(found) - MAX_NAMES
    return tuple(found) if more <= 0 else (*found[:MAX_NAMES], _describe_more(found[-1].code, more))


def _describe_more(code: str, count: int) -> WarningDetail:
    return WarningDetail(code, f"and {count} more, which ostler show lists")

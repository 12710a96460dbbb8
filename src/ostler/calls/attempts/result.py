"""The result and the events of an attempt as they are recorded: without secrets, billed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ostler.calls.request import CallRequest
from ostler.calls.spending.running import RunningCost
from ostler.errors import Code
from ostler.model.call import AgentEvent, CallResult, SessionReplaced, SessionStarted, UsageReported
from ostler.model.usage import Usage
from ostler.secrets.redact import RedactTexts, redact_structs, redact_text, redact_value, to_json

_KEPT = (SessionStarted, SessionReplaced, UsageReported)

RecordedEvent = tuple[AgentEvent, bytes]
"""An event without secrets, and its JSON."""


class RecordedEvents(NamedTuple):
    """Events without secrets."""

    events: Sequence[RecordedEvent]
    is_unchanged: bool  # nothing was found in the JSON of all of them together


def redact_result(result: CallResult) -> CallResult:
    """Return the result as it may be recorded; ids stay, because a session is resumed by its id."""
    texts = {"text": redact_text(result.text), "message": redact_text(result.message)}
    return replace(result, **texts, warnings=tuple(redact_value(result.warnings)))


def redact_events(events: Sequence[AgentEvent], redact: RedactTexts) -> RecordedEvents:
    """Return the events as they may be recorded; ids of sessions stay."""
    redacted = redact_structs(events, redact)
    if all(clean is event for event, (clean, _) in zip(events, redacted, strict=True)):
        return RecordedEvents(redacted, is_unchanged=True)
    pairs = zip(events, redacted, strict=True)
    kept = [(event, to_json(event)) if isinstance(event, _KEPT) else clean for event, clean in pairs]
    return RecordedEvents(kept, is_unchanged=False)


def end_at_budget(result: CallResult, running: RunningCost | None) -> CallResult:
    """Return the failure of an agent whose calls the proxy refused as one of the budget."""
    if result.ok or running is None or not running.exceeded:
        return result
    return replace(result, code=Code.BUDGET_EXCEEDED, message=running.exceeded)


def bill_once(result: CallResult, request: CallRequest) -> CallResult:
    """Return a replayed answer without the tokens that an earlier attempt of the call has recorded."""
    earlier = [one for one in request.attempts if one.step == request.key and one.usage != Usage()]
    is_billed = result.replayed and any(one.session_id == result.session_id for one in earlier)
    return replace(result, usage=Usage(), cost_usd=0.0) if is_billed else result

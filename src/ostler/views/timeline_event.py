"""One line of the feed, as far as a timeline reads it, and the moments that are marked on it."""

from __future__ import annotations

from msgspec import Struct
from msgspec.json import Decoder

from ostler.model.event import FeedLine


class Said(Struct, frozen=True):
    """The members of all events and notices that a timeline reads; of others it knows the type."""

    type: str = ""
    phase: str = ""
    iteration: int = 0
    number: int = 0
    executor: str = ""
    model: str = ""
    tool: str = ""
    detail: str = ""
    denied: bool = False
    status: str = ""
    verdict: str = ""
    gate: str = ""
    verb: str = ""
    by: str = ""
    to: str = ""
    code: str | None = None
    message: str = ""
    reason: str = ""
    text: str = ""
    note: str = ""
    commit: str | None = None
    pr_url: str | None = None
    resumed: bool = False
    seconds: int = 0

    @property
    def why(self) -> str:
        """The code and the sentence, as far as there are any."""
        return ": ".join(part for part in (self.code, self.message or self.reason) if part)


class Mark(Struct, frozen=True):
    at: float  # seconds since the epoch
    kind: str  # the event's type
    text: str


_DECODE = Decoder(Said).decode
_TEXTS = {
    "task_created": "created",
    "task_claimed": "taken up by a run",
    "task_started": "the workspace is ready",
    "checkpoint_made": "commit {commit:.10}",
    "phase_retried": "{phase} sends the work back to {to}",
    "published": "published {pr_url}{note}",
    "work_rebased": "the work was moved onto its target",
    "step_failed": "{why}",
    "task_released": "the run was stopped: {message}",
    "task_deferred": "waits: {why}",
    "task_paused": "paused {why}",
    "task_blocked": "blocked: {why}",
    "task_completed": "completed",
    "task_failed": "failed: {why}",
    "task_cancelled": "cancelled {message}",
    "task_reopened": "opened again by {by} {text}",
    "decision_recorded": "{verb} {phase} {text}",
    "agent_warned": "{message}",
    "agent_reported": "the agent says {status} {reason}",
    "agent_quiet": "no sign of life for {seconds} s",
    "budget_warned": "{message}",
    "work_adjusted": "{message}",
    "model_woke": "{reason}",
}


def said_in(line: FeedLine) -> Said:
    return _DECODE(line.body)


def mark_of(said: Said, at: float) -> Mark | None:
    """What is marked at this moment; None where a span says it."""
    if said.type == "tool_used" and said.denied:
        return Mark(at, "tool_denied", f"{said.tool} denied {said.detail}".rstrip())
    if said.type == "session_replaced":
        how = "existed already and goes on" if said.resumed else "was lost; a new one begins"
        return Mark(at, said.type, f"the session {how}")
    form = _TEXTS.get(said.type)
    return Mark(at, said.type, _filled(form, said)) if form else None


def _filled(form: str, said: Said) -> str:
    members = {name: getattr(said, name) or "" for name in Said.__struct_fields__}
    return " ".join(form.format(**members, why=said.why).split())

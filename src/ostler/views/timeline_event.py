"""The moments that are marked on a timeline, in words."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.said import Said


class Mark(Struct, frozen=True):
    at: float  # seconds since the epoch
    kind: str  # the event's type
    text: str


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

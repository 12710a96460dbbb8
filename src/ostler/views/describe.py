"""Events as text: the same text on the timeline, in progress displays and on the board."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from ostler.model.event import FeedEvent
from ostler.model.policy.sandbox import describe_refusal
from ostler.views.agent_work.tool_verb import find_verb

_TEXTS = {
    "task_created": "created",
    "task_claimed": "claimed by a run",
    "task_started": "workspace ready",
    "checkpoint_made": "commit {commit:.10}",
    "gate_decided": "gate: {verdict} {reason}",
    "final_checked": "every gate has checked the final commit",
    "settings_accepted": "settings accepted by {by}",
    "phase_retried": "{phase} returns the work to {to}",
    "published": "published: {how} {pr_url} {note}",
    "work_rebased": "rebased onto {base:.10}",
    "wait_started": "waiting: {reason}",
    "step_failed": "{error}",
    "step_progress": "{message}",
    "task_released": "the run was stopped: {message}",
    "task_deferred": "deferred: {error}",
    "task_paused": "paused: {error}",
    "task_blocked": "blocked: {error}",
    "task_completed": "completed",
    "task_failed": "failed: {error}",
    "task_cancelled": "cancelled: {message}",
    "task_reopened": "reopened by {by}: {text}",
    "task_rebuilt": "the journal was rebuilt",
    "task_edited": "edited ({by}): {text}",
    "task_archived": "archived by {by}",
    "task_unarchived": "no longer archived, by {by}",
    "task_removed": "removed by {by}",
    "task_purged": "purged by {by}: its files are deleted",
    "decision_recorded": "{verb} {phase} {text}",
    "agent_warned": "{message}",
    "agent_reported": "the agent reported {status}: {reason}",
    "agent_idle": "no output for {seconds} s",
    "budget_warned": "{message}",
    "concurrency_reduced": "{message}",
    "model_recovered": "{reason}",
    "model_cooldown": "{message}, the last one {code}",
    "provider_unavailable": "{model} is not called: {error}",
    "retries_used_up": "{message}",
    "review_sent": "{verdict}: {text}",
    "review_reminded": "{phase} waits for you: {message}",
    "task_held": "waits for you: {error}",
}


class _Fields(dict[str, Any]):
    """The fields of an event; those that it lacks are empty."""

    def __missing__(self, name: str) -> str:
        return ""


def describe_event(event: FeedEvent) -> str:
    """Return an event as text; empty for one without a text."""
    return describe_fields(structs.asdict(event))


def describe_fields(fields: Mapping[str, Any]) -> str:
    """Return an event as text, from its fields as in the JSON of the feed."""
    kind = str(fields["type"])
    if kind == "tool_used":
        # A rule of permissions names the tool, not what it does.
        what = f"denied: {fields['tool']}" if fields.get("denied") else find_verb(fields["tool"])
        return f"{what} {fields.get('detail') or ''}".strip()
    if kind == "access_refused":
        return describe_refusal(fields["kind"], fields["target"], fields.get("setting") or "")
    if kind == "session_replaced":
        how = "exists already and continues" if fields.get("resumed") else "was lost; a new session starts"
        return f"the session {how}"
    error = ": ".join(
        part for part in (fields.get("code"), fields.get("message") or fields.get("reason")) if part
    )
    values = _Fields({name: value or "" for name, value in fields.items()}, error=error)
    if kind == "decision_recorded" and fields.get("attempt"):
        values["phase"] = f"attempt {fields['attempt']}"
    return " ".join(_TEXTS.get(kind, "").format_map(values).split()).removesuffix(":")

"""Asks a person about work that changes nothing."""

from __future__ import annotations

from ostler.engine.steps.services import StepServices, TaskContext
from ostler.errors import WarningCode
from ostler.model.event import CallEnded


def describe_no_changes(context: TaskContext, services: StepServices) -> str:
    """Return the request to the person, with the reason that the agent reported; empty if files changed."""
    state = context.state
    if WarningCode.NO_CHANGES not in state.warnings:
        return ""
    if state.plan.is_document:
        return "the document is still the one that was rejected; please decide on"
    if not (state.unchanged and state.review_requested):
        return ""
    calls = (one.event for one in reversed(services.journal.read(state.task)))
    last = next((event for event in calls if isinstance(event, CallEnded)), None)
    reported = f" (the agent reported: {last.message})" if last is not None and last.message else ""
    return f"the commits of the work change no file{reported}; please decide on"

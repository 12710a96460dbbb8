"""Who has decided about a task already, for a person who comes too late."""

from __future__ import annotations

from msgspec import Struct

from ostler.clock import format_local_time
from ostler.model.event import DecisionRecorded
from ostler.model.ids import TaskId
from ostler.project.decisions.action import NotWaiting
from ostler.project.project import Project

_WORDS = {"approve": "approved it", "reject": "sent it back"}


class EarlierDecision(Struct, frozen=True):
    at: float
    review: int  # that contains it; 0: none
    text: str


def find_earlier_decision(project: Project, task: TaskId) -> EarlierDecision | None:
    """Return the last approval or rejection of a task; None if there is none."""
    for record in reversed(project.journal.read(task)):
        event = record.event
        if isinstance(event, DecisionRecorded) and event.verb in _WORDS:
            at = format_local_time(record.at, project.now())
            review = f" (review {event.review})" if event.review else ""
            text = f"{event.by or 'a person'} {_WORDS[event.verb]} at {at}{review}"
            return EarlierDecision(record.at, event.review, text)
    return None


def name_earlier_decision(project: Project, task: TaskId, error: NotWaiting) -> NotWaiting:
    """Return the error with the last decision about the task, if there is one."""
    found = find_earlier_decision(project, task)
    return NotWaiting(f"{error.message}; {found.text}", error.hint) if found else error

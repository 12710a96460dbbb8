"""Keeps the text of a rejection that came too late: a draft of its author, offered in the next round."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager

from ostler.errors import UsageError
from ostler.model.event import DecisionRecorded
from ostler.model.ids import TaskId
from ostler.project.decisions.action import NotWaiting
from ostler.project.project import Project
from ostler.project.reviews.conflict import ReviewConflict
from ostler.project.reviews.drafts import CommentChange, save_draft

_VERBS = ("approve", "reject")


@contextmanager
def keep_late_text(project: Project, task: TaskId, text: str) -> Generator[None]:
    """Save the text as a draft if somebody has decided before; the hint of the error says so."""
    try:
        yield
    except (NotWaiting, ReviewConflict) as error:
        if save_late_text(project, task, text):
            kept = f"your text is kept as a draft: ostler review {task} --show"
            error.hint = "; ".join(filter(None, (error.hint, kept)))
        raise


def save_late_text(project: Project, task: TaskId, text: str) -> bool:
    """Save the text as a draft; return False if it is not kept.

    It is not if the agent has it already, and if nobody has decided: the id may be a wrong one.
    """
    events = [one.event for one in project.journal.read(task)]
    decided = [one.text for one in events if isinstance(one, DecisionRecorded) and one.verb in _VERBS]
    decided += [one.text for one in project.journal.reviews.list(task)]
    if not text.strip() or not decided or text in decided:
        return False
    # A command that is repeated in this round adds no second draft.
    number = project.journal.reviews.next_number(task)
    digest = hashlib.sha256(f"{number}:{len(decided)}:{text}".encode("utf-8", "surrogatepass")).hexdigest()
    try:
        save_draft(project, task, CommentChange(id=f"late-{digest[:24]}", text=text))
    except UsageError:
        return False  # such as of a purged task, which has no next round
    return True

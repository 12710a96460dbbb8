"""The lines of sent comments in the current work, remembered while the work does not change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from ostler.errors import GitError, UsageError
from ostler.model.ids import TaskId
from ostler.model.review import Comment, MappedComment, Review
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.project.project import Project
from ostler.project.reviews.mapping import map_comments, map_drafts

_MOST = 500  # reviews

_Lines = tuple[MappedComment, ...]
_Key = tuple[Path, TaskId, int, object]
_found: OrderedDict[_Key, _Lines] = OrderedDict()
_lock = Lock()


def find_lines(project: Project, state: State, review: Review) -> _Lines:
    """Return where the lines of a review's comments are now; unknown if its commit is gone."""

    def find() -> _Lines:
        return map_comments(project, state.task, review)

    return _recall(project, state, review.number, review.comments, find)


def find_draft_lines(project: Project, state: State, drafts: tuple[Comment, ...]) -> _Lines:
    """Return where the lines of comments about an earlier version are now; unknown if that is gone."""
    places = tuple((one.id, one.commit, one.place) for one in drafts)
    return _recall(project, state, places, drafts, lambda: map_drafts(project, state.task, drafts))


def _recall(
    project: Project, state: State, name: object, comments: tuple[Comment, ...], find: Callable[[], _Lines]
) -> _Lines:
    if not comments:
        return ()
    key = (project.layout.state, state.task, state.seq, name)
    with _lock:
        if key in _found:
            return _found[key]
    try:
        mapped = find()
    except (UsageError, GitError):  # a remote that is down now is not remembered
        return tuple(MappedComment(one.id, "unknown") for one in comments)
    if state.status is not TaskStatus.IN_PROGRESS:  # an agent changes files without a record
        with _lock:
            _found[key] = mapped
            while len(_found) > _MOST:
                _found.popitem(last=False)
    return mapped

"""What agents wrote about reviews: the summary of the work, and their replies to comments."""

from __future__ import annotations

from pathlib import Path

from ostler.model.attempt import Attempt
from ostler.model.review import Reply, Review
from ostler.model.state import State
from ostler.project.artifacts.task_folder import find_task_folder
from ostler.project.project import Project
from ostler.prompt.completion import read_final_words
from ostler.prompt.replies import read_replies as read_replies_of
from ostler.skills.outputs import is_always_file

_ANSWERS = "transcripts/*.answer.md"
_LARGEST_BYTES = 4 * 1024 * 1024
_MAIN_PHASE = "implement"


def read_summary(project: Project, state: State, attempts: list[Attempt]) -> str:
    """Return the final words of the agent that did the work; empty if its answer is the document itself."""
    done = [one for one in attempts if one.status == "succeeded"]
    done = [one for one in done if one.phase == _MAIN_PHASE] or done
    if not done or (state.plan.is_document and not is_always_file(state.output or "")):
        return ""
    return read_final_words(_read(find_task_folder(project, state.task, _ANSWERS), done[-1]))


def read_replies(
    project: Project, state: State, reviews: tuple[Review, ...], attempts: list[Attempt]
) -> dict[tuple[int, int], Reply]:
    """Return the replies by the number of the review and that of the comment; a later one counts.

    The answers of an attempt are about the last review that was sent back before it started.
    """
    returned = [one for one in reviews if one.verdict == "changes"]
    found: dict[tuple[int, int], Reply] = {}
    later = [one for one in attempts if returned and one.started_at >= returned[0].at]
    folder = find_task_folder(project, state.task, _ANSWERS) if later else Path()
    for attempt in later:
        review = [one for one in returned if one.at <= attempt.started_at][-1]
        for reply in read_replies_of(_read(folder, attempt)):
            if reply.comment <= len(review.comments):
                found[review.number, reply.comment] = reply
    return found


def _read(folder: Path, attempt: Attempt) -> str:
    path = folder / f"{attempt.transcript.removesuffix('.jsonl')}.answer.md"
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _LARGEST_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""

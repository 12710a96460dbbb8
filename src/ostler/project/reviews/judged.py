"""The commits that reviews are about: kept until the task is purged, and compared with the current work."""

from __future__ import annotations

from msgspec import Struct

from ostler.git.compare.merged import MergedTree, merge_onto
from ostler.git.kept import keep_judged_commit
from ostler.git.refs import has_commit
from ostler.model.ids import TaskId
from ostler.model.review import Review
from ostler.project.cluster.commits import fetch_judged, fetch_task, push_judged
from ostler.project.project import Project
from ostler.project.reviews.ends import CommitsGone, Ends


class Judged(Struct, frozen=True):
    """The work of a review as it would be on the current base."""

    commit: str
    base: str  # of the task at that moment
    tree: str  # the commit itself if the base is the same, or if it could not be merged
    conflict: bool = False  # the tree has conflict markers
    note: str = ""  # why other people's changes could not be left out


def keep_judged(project: Project, task: TaskId, number: int, commit: str, base: str) -> None:
    """Keep the commit of a review until the task is purged, also for the other machines of a cluster."""
    repository = project.repository()
    if repository is None:
        return
    fetch_task(project, task, commit)
    keep_judged_commit(repository, task, number, commit, base)
    push_judged(project, task, number, commit)


def find_judged(project: Project, task: TaskId, review: Review, ends: Ends) -> Judged | None:
    """Return the work of a review; None for a document. Raises CommitsGone, and GitError."""
    if review.commit is None:
        return None
    fetch_judged(project, task, review.number, review.commit)
    if not has_commit(ends.repository, review.commit):
        where = f"commit {review.commit:.10} of review {review.number} of {task}"
        raise CommitsGone(f"{where} is not in the repository any more", f"ostler show {task}")
    base = review.base or ends.base
    if base == ends.base:
        return Judged(review.commit, base, review.commit)
    merged = merge_onto(ends.repository, ends.base, review.commit)
    return Judged(
        review.commit, base, merged.tree or review.commit, merged.conflict, _describe(merged, review.number)
    )


def _describe(merged: MergedTree, number: int) -> str:
    if merged.conflict:
        return f"the work of review {number} conflicts with the new base: the left side has conflict markers"
    if not merged.tree:
        return f"changes of others since review {number} are included: {merged.reason}"
    return ""

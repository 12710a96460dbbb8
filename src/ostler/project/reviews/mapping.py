"""Where the lines of a review's comments are in the current work, and what has become of them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ostler.git.compare.deltas import has_same_files
from ostler.git.compare.hunks import ChangedLines, read_hunks
from ostler.git.repository import Repository
from ostler.model.ids import TaskId
from ostler.model.review import Comment, CommentState, MappedComment, Place, Review
from ostler.model.state import State
from ostler.project.project import Project
from ostler.project.reviews.document_changes import map_versions
from ostler.project.reviews.documents import find_judged_version, read_current, read_version
from ostler.project.reviews.ends import CommitsGone, Ends, find_ends, reading
from ostler.project.reviews.judged import Judged, find_judged
from ostler.project.reviews.texts import read_texts
from ostler.views.diff.line_map import Hunk, LineMap

_ORDER: tuple[CommentState, ...] = (
    "unchanged",
    "moved",
    "changed",
    "probably_changed",
    "unknown",
    "deleted",
)


class Found(Struct, frozen=True):
    """Where lines are, and what was changed there."""

    state: CommentState
    path: str = ""
    line: int = 0
    end_line: int = 0
    since: tuple[str, ...] = ()


class Step:
    """Two versions of all files that have comments."""

    def __init__(self, repository: Repository, left: str, right: str, paths: Iterable[str]) -> None:
        named = frozenset(paths)
        self._changed: dict[str, ChangedLines] = {}
        if left != right and named:
            self._changed = read_hunks(repository, left, right, named)
        pairs = [one for one in self._changed.values() if one.hunks]
        self._texts = read_texts(repository, [blob for one in pairs for blob in (one.old_blob, one.new_blob)])

    def find_path(self, path: str) -> str:
        """Return the name of a file in the right version; empty if it was deleted."""
        found = self._changed.get(path)
        return path if found is None else found.path

    def find(self, path: str, line: int, end_line: int) -> Found:
        """Return where lines of a file are in the right version; line 0 is the whole file."""
        changed = self._changed.get(path)
        if changed is None:
            return Found("unchanged", path, line, end_line)
        if not changed.path:
            return Found("deleted")
        same: CommentState = "unchanged" if changed.path == path else "moved"
        if changed.old_blob == changed.new_blob:
            return Found(same, changed.path, line, end_line)
        if not line:
            return Found("changed", changed.path)
        lines = self.line_map(path)
        if lines is None:
            return Found("unknown", changed.path)
        mapped = lines.map_range(line, end_line)
        since = lines.list_changes(line, end_line)
        if not mapped.line:
            return Found("deleted", since=since)
        state = same if mapped.how == "unchanged" else mapped.how
        return Found(state, changed.path, mapped.line, mapped.end_line, since)

    def line_map(self, path: str) -> LineMap | None:
        """Return the lines of a changed file; None if it was not compared by lines."""
        changed = self._changed.get(path)
        if changed is None or changed.hunks is None:
            return None
        old, new = self._texts.get(changed.old_blob), self._texts.get(changed.new_blob)
        if old is None or new is None:
            return None
        return LineMap(old, new, [Hunk(*numbers) for numbers in changed.hunks])


def map_comments(project: Project, task: TaskId, review: Review) -> tuple[MappedComment, ...]:
    """Return where the lines of the comments are now. Raises UsageError, CommitsGone and GitError."""
    if not review.comments:
        return ()
    state = project.state(task)
    if state.plan.is_document:
        lines = _read_document_lines(project, state, review)
        return tuple(_map_in_document(comment, lines) for comment in review.comments)
    ends, found = find_ends(project, task), dict[str, MappedComment]()
    # A comment that was sent after the work had changed has the lines of the commit that its author read.
    for commit in dict.fromkeys(one.commit or review.commit for one in review.comments):
        comments = tuple(one for one in review.comments if (one.commit or review.commit) == commit)
        try:
            mapped = map_onto(project, task, replace(review, commit=commit, comments=comments), ends)
        except CommitsGone:
            if commit == review.commit:
                raise
            mapped = tuple(MappedComment(one.id, "unknown") for one in comments)
        found |= {one.id: one for one in mapped}
    return tuple(found[one.id] for one in review.comments)


def map_drafts(project: Project, task: TaskId, drafts: tuple[Comment, ...]) -> tuple[MappedComment, ...]:
    """Return where the lines of comments that are not sent are now. Raises as map_comments."""
    state = project.state(task)
    if state.plan.is_document:
        return tuple(_map_draft_of_document(project, state, one) for one in drafts)
    # Review 0: its commits are those of the comments.
    review = Review(
        number=0, at=0.0, by="", verdict="changes", commit=state.commit, base=state.base, comments=drafts
    )
    return map_comments(project, task, review)


def map_onto(project: Project, task: TaskId, review: Review, ends: Ends) -> tuple[MappedComment, ...]:
    """Return where the lines of the comments are in this version of the work."""
    with reading(ends, task):
        judged = find_judged(project, task, review, ends)
        if judged is None:
            return tuple(MappedComment(comment.id, "unknown") for comment in review.comments)
        mapper = _Mapper(ends.repository, judged, ends.base, ends.head, review.comments)
        return tuple(mapper.map(comment) for comment in review.comments)


def _read_document_lines(project: Project, state: State, review: Review) -> LineMap | None:
    """Return the lines of the version of a review and of the current one; None if one is missing."""
    left = find_judged_version(project, state, review)
    return map_versions(left, read_current(project, state)) if left else None


def _map_draft_of_document(project: Project, state: State, draft: Comment) -> MappedComment:
    left = read_version(project, state, draft.commit)
    return _map_in_document(draft, map_versions(left, read_current(project, state)) if left else None)


def _map_in_document(comment: Comment, lines: LineMap | None) -> MappedComment:
    place = comment.place
    if lines is None:
        return MappedComment(comment.id, "unknown")
    if not place.line:
        return MappedComment(comment.id, "changed" if lines.hunks else "unchanged", place)
    mapped = lines.map_range(place.line, place.end_line or place.line)
    since = lines.list_changes(place.line, place.end_line or place.line)
    now = replace(place, line=mapped.line, end_line=mapped.end_line) if mapped.line else None
    return MappedComment(comment.id, mapped.how, now, since)


class _Mapper:
    """Maps the comments of one review."""

    def __init__(
        self,
        repository: Repository,
        judged: Judged,
        base: str,
        head: str,
        comments: tuple[Comment, ...],
    ) -> None:
        new = {one.place.path for one in comments if one.place.path and one.place.side != "old"}
        old = {one.place.path for one in comments if one.place.path and one.place.side == "old"}
        # What others changed below the work, then what the agent changed. With conflicts the first tree has
        # lines of neither side.
        tree = judged.commit if judged.conflict else judged.tree
        # A round may end with a commit that changes no file.
        self._is_same = judged.commit == head or (
            any(not one.place.path for one in comments) and has_same_files(repository, tree, head)
        )
        self._others = Step(repository, judged.commit, tree, new)
        self._agent = Step(repository, tree, head, {self._others.find_path(path) for path in new} - {""})
        self._bases = Step(repository, judged.base, base, old)
        self._removed_then = Step(repository, judged.base, judged.commit, old)
        later = {self._bases.find_path(path) for path in old} - {""}
        self._removed_now = Step(repository, base, head, later)
        self._since_old = Step(repository, tree, head, old)

    def map(self, comment: Comment) -> MappedComment:
        place = comment.place
        if not place.path:
            return MappedComment(comment.id, "unchanged" if self._is_same else "changed", place)
        found = self._find_old(place) if place.side == "old" else self._find_new(place)
        now = (
            replace(place, path=found.path, line=found.line, end_line=found.end_line) if found.path else None
        )
        return MappedComment(comment.id, found.state, now, found.since)

    def _find_new(self, place: Place) -> Found:
        first = self._others.find(place.path, place.line, place.end_line)
        if not first.path:
            return first
        second = self._agent.find(first.path, first.line, first.end_line)
        return replace(second, state=max(first.state, second.state, key=_ORDER.index))

    def _find_old(self, place: Place) -> Found:
        """Return a line of the base: it changed if it was removed at one of the two times only."""
        found = self._bases.find(place.path, place.line, place.end_line)
        if not found.path:
            return found
        then = self._removed_then.find(place.path, place.line, place.end_line)
        now = self._removed_now.find(found.path, found.line, found.end_line)
        if then.state == now.state:
            return replace(found, since=())
        lines = self._since_old.line_map(place.path)
        removed_at = self._removed_then.line_map(place.path)
        at = removed_at.find_hunk_place(place.line) if removed_at else place.line
        since = lines.list_changes(at, at + place.end_line - place.line) if lines else ()
        return replace(found, state="changed", since=since)

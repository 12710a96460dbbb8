"""A review in an editor: the form is opened, read, and sent or kept."""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec import Struct

from ostler.cli.review.body import FormError
from ostler.cli.review.carry import carry_comments, carry_drafts
from ostler.cli.review.changes import ShownChanges, read_changes
from ostler.cli.review.earlier import describe_place, place_earlier
from ostler.cli.review.facts import make_head
from ostler.cli.review.filled import Filled, read_form, read_version
from ostler.cli.review.form import COMMIT, DECISION, Entries, write_form
from ostler.cli.review.kept import (
    Content,
    drop_kept,
    find_form,
    find_lock,
    keep_form,
    name_kept,
    read_kept,
    set_aside,
)
from ostler.cli.review.saved import name_saved, note_saved, select_saved
from ostler.cli.review.sent import Sent
from ostler.cli.terminal.editor import edit_kept, hold_text
from ostler.cli.terminal.output import print_hint
from ostler.cli.terminal.text import format_count, to_one_line
from ostler.errors import OstlerError, UsageError
from ostler.model.ids import TaskId
from ostler.model.review import Place
from ostler.project.project import Project
from ostler.project.reviews.bundle import (
    NewComment,
    list_drafts,
    save_comments,
    send_comments,
)
from ostler.project.reviews.send import NewReview
from ostler.project.reviews.view import ReviewView, show_review

_ERROR = "# Not sent: "


class OpenForm(Struct, frozen=True):
    """A form, with what it is about."""

    text: str
    shown: ShownChanges
    version: str
    round: int
    comments: tuple[NewComment, ...]  # that it has from the beginning


def make_form(project: Project, task: TaskId, since: int = 0) -> OpenForm:
    """Return an empty form with the saved comments, or with those of a form that was kept."""
    view, drafts = show_review(project, task), list_drafts(project, task)
    shown = read_changes(project, task, since, generated=False)
    comments = carry_drafts(view.drafts)
    kept_text, kept = read_kept(project, task)
    text = ""
    if kept is not None and kept.version != view.version:
        text = kept.text
        known = {one.id for one in select_saved(kept_text, drafts)}
        newer = [one for one in view.drafts if one.id not in known]
        comments = [*carry_comments(project, task, kept.version, kept.comments), *carry_drafts(newer)]
    notes = place_earlier(view, shown)
    notes[-1] = [*_name_foreign(view), *notes.get(-1, ())]
    entries = Entries(text, tuple(comments), notes, tuple(name_saved(drafts)))
    form = write_form(make_head(view, shown.summary), shown, entries)
    return OpenForm(form, shown, view.version, view.round, entries.comments)


def _name_foreign(view: ReviewView) -> Iterator[str]:
    """Yield a note for each saved comment that a program wrote for the person."""
    for draft in view.drafts:
        if draft.via:
            place, text = describe_place(draft.now or draft.place), to_one_line(draft.text)
            yield f"An MCP client wrote for you: {draft.kind} on {place}: {text}"


def review_in_editor(project: Project, task: TaskId, since: int | None) -> Sent | None:
    """Open the form, or the one that was kept; None if it is empty or unchanged. Raises OstlerError."""
    view = show_review(project, task)
    _require_open(view)
    command = f"ostler review {task}"
    with hold_text(find_lock(project, task), command):
        kept, content = read_kept(project, task)
        version, kept_since = read_version(kept)
        if kept and version == view.version:
            path = name_kept(project, task)
            print_hint(f"Continuing with the form that was not sent; delete {path} to start anew.")
            drafts = list_drafts(project, task)
            if newer := len(drafts) - len(select_saved(kept, drafts)):
                stay = "stays, and is" if newer == 1 else "stay, and are"
                comments = f"{format_count(newer, 'comment')} saved since then {stay}"
                print_hint(f"{comments} sent with it: ostler review {task} --show")
            form = make_form(project, task, kept_since)
            text = edit_kept(find_form(project, task), kept, command)
        else:
            if kept and content is None:
                path = set_aside(project, task)
                reason = f"{task} has changed" if version else f'The line "{COMMIT.strip()}" is missing'
                print_hint(f"{reason}; the form that was not sent is kept in {path}")
            form = make_form(project, task, since or 0)
            text = edit_kept(find_form(project, task), form.text, command)
            if text == form.text and content is None:
                text = ""
        if not _drop_error(text).strip():
            drop_kept(project, task)
            return None
        return _finish(project, task, form, _drop_error(text))


def send_form(project: Project, task: TaskId, text: str) -> Sent | None:
    """Send the text of a form that a script has filled in. Raises UsageError."""
    version, since = read_version(text)
    view = show_review(project, task)
    if version != view.version:
        about = f"version {version[:10]}" if version else "no version"
        raise UsageError(
            f"the form is about {about} of {task}, which is at {view.version[:10] or 'no commit'}",
            f"get a new one: ostler review {task} --print-form",
        )
    form = make_form(project, task, since)
    return _send(project, task, form, read_form(text, form.shown), text)


def _require_open(view: ReviewView) -> None:
    if not view.can.approve.allowed and not view.can.send_back.allowed:
        reason = view.can.send_back.reason or view.can.approve.reason
        raise UsageError(f"{view.id} cannot be reviewed now: {reason}", f"ostler review {view.id} --show")


def _finish(project: Project, task: TaskId, form: OpenForm, text: str) -> Sent | None:
    """Send the form, or keep it with the reason why it cannot be sent."""
    content: Content | None = None
    try:
        filled = read_form(text, form.shown)
        content = Content(form.version, filled.text, filled.comments)
        sent = _send(project, task, form, filled, text)
    except OstlerError as error:
        reason, advice = error.message, ""
        if isinstance(error, FormError):
            # The line with the reason becomes the first one.
            reason, advice = FormError(error.line + 1, error.reason).message, error.hint
        if content is not None:
            text = note_saved(text, list_drafts(project, task), content.comments)
        keep_form(project, task, f"{_ERROR}{' '.join(reason.split())}\n{text}", content)
        hint = "; ".join(filter(None, (advice, f"the form is kept: ostler review {task}")))
        raise UsageError(reason, hint, error.code) from None
    drop_kept(project, task)
    return sent


def _drop_error(text: str) -> str:
    first, _, rest = text.partition("\n")
    return rest if first.startswith(_ERROR) else text


def _send(project: Project, task: TaskId, form: OpenForm, filled: Filled, text: str) -> Sent | None:
    decision = filled.decision
    replaced = select_saved(text, list_drafts(project, task))
    if decision is None:
        if not filled.text and _is_same(form, filled):
            return None
        lines = text.split("\n")
        number = next((n for n, line in enumerate(lines, 1) if line.startswith(DECISION)), 1)
        raise FormError(number, "there is no decision", f"write {DECISION} send back")
    if decision.verdict is None:
        comments = filled.comments
        if filled.text:
            comments = (NewComment("change", Place(), filled.text), *comments)
        save_comments(project, task, form.version, comments, replaced)
        return Sent(saved=list_drafts(project, task))
    new = NewReview(
        verdict=decision.verdict,
        commit=form.version,
        text=filled.text,
        then=decision.then,
        round=form.round,
    )
    review = send_comments(project, os.environ, task, new, filled.comments, replaced)
    return Sent(review, then=decision.then)


def _is_same(form: OpenForm, filled: Filled) -> bool:
    return {*form.comments} == {*filled.comments}

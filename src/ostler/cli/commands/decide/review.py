"""ostler review"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress

import click

from ostler.cli.commands.decide.accept import print_lines, run_accepted
from ostler.cli.options import json_option, open_project, refuse_empty
from ostler.cli.review.changes import read_changes
from ostler.cli.review.earlier import describe_place, place_briefly
from ostler.cli.review.marks import read_lines
from ostler.cli.review.render import render_changes, render_review
from ostler.cli.review.sent import Sent, describe_sent
from ostler.cli.review.session import make_form, review_in_editor, send_form
from ostler.cli.task_input import read_text
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import screen_width, to_one_line, truncate, use_colour
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.review import Comment, CommentKind, Place, ReviewVerdict
from ostler.project.project import Project
from ostler.project.reviews.allowed import Then
from ostler.project.reviews.bundle import NewComment, list_drafts, save_comments, send_comments
from ostler.project.reviews.conflict import ReviewConflict
from ostler.project.reviews.late_text import keep_late_text
from ostler.project.reviews.send import NewReview
from ostler.project.reviews.view import show_review
from ostler.views.next_step import next_step

_COMMENT = re.compile(r"(.+?)(?::(\d{1,8})(?:-(\d{1,8}))?)?=(.*)", re.DOTALL)
_LAST = "last"


@click.command("review")
@click.argument("task", required=False, default="", metavar="[ID]")
@click.option("--approve", is_flag=True, help="Approve the work.")
@click.option("--send-back", is_flag=True, help="Send the work back to its agent.")
@click.option("--then", type=click.Choice(["merge", "pr"]), help="Publish approved work at once.")
@click.option("-m", "--message", metavar="TEXT", help="Message about the whole work.")
@click.option(
    "--comment", "changes", metavar="PATH:LINE=TEXT", multiple=True, help="Request a change; repeatable."
)
@click.option(
    "--question", "questions", metavar="PATH:LINE=TEXT", multiple=True, help="Ask a question; repeatable."
)
@click.option(
    "--commit", metavar="SHA", callback=refuse_empty, help="Refuse if the work is at another commit."
)
@click.option(
    "--form",
    metavar="FILE",
    callback=refuse_empty,
    help="Send a form that is filled in; - reads it from stdin.",
)
@click.option("--print-form", is_flag=True, help="Print the form instead of opening it.")
@click.option("--show", is_flag=True, help="Print the comments and the agent's answers.")
@click.option(
    "--since",
    metavar="N",
    callback=refuse_empty,
    help='With only what changed since review N; "last" for the last one.',
)
@json_option
def command(
    task: str,
    approve: bool,
    send_back: bool,
    then: Then | None,
    message: str | None,
    changes: tuple[str, ...],
    questions: tuple[str, ...],
    commit: str,
    form: str,
    print_form: bool,
    show: bool,
    since: str,
    as_json: bool,
) -> int:
    """Review the work of a task in $EDITOR: decide, and comment below lines of the changes.

    Without ID it is the first task of the inbox that waits for a review. Comments are sent together with the
    decision. Without a decision, options save comments for later.
    """
    verdict: ReviewVerdict | None = "approve" if approve else "changes" if send_back else None
    if approve and send_back:
        raise click.UsageError("use either --approve or --send-back")
    given = bool(verdict or message is not None or changes or questions)
    if sum((given, bool(form), print_form, show)) > 1:
        raise click.UsageError("use one of --form, --print-form, --show, and the options of a decision")
    if then and verdict != "approve":
        raise click.UsageError("--then is for --approve")
    if commit and not given:
        raise click.UsageError("--commit is for the options of a decision")
    if since and (given or form):
        raise click.UsageError("--since is for the editor, --print-form and --show")
    if not task and (given or form):
        raise click.UsageError("name the task to decide about")
    with open_project() as project:
        found = project.resolve(task) if task else _find_next(project)
        number = _find_review(project, found, since)
        if given:
            comments = [*_parse("change", changes), *_parse("question", questions)]
            with _advising(found):
                sent = _send(project, found, verdict, then or "", message or "", comments, commit)
        elif form:
            with _advising(found):
                sent = send_form(project, found, read_text(form))
        elif print_form:
            print_text(make_form(project, found, number).text.removesuffix("\n"))
            return 0
        elif show or as_json:
            _show(project, found, number if since else None, as_json)
            return 0
        else:
            sent = review_in_editor(project, found, number)
        return _print_sent(project, found, sent, as_json)


@contextmanager
def _advising(task: TaskId) -> Generator[None]:
    """Name the command that shows the present work, if a review does not fit it."""
    try:
        yield
    except ReviewConflict as error:
        show = f"ostler review {task} --show"
        raise UsageError(error.message, error.hint if show in error.hint else show, error.code) from None


def _find_next(project: Project, after: str = "") -> TaskId:
    """Return the first other task that waits for a review, in the order of the inbox. Raises UsageError."""
    waiting = [key.id for key in project.journal.listing.inbox("review", None, 2) if key.id != after]
    if not waiting:
        raise UsageError("no task waits for a review", "ostler status")
    return waiting[0]


def _find_review(project: Project, task: TaskId, text: str) -> int:
    """Return the number of a review; 0 without one. Raises UsageError."""
    if not text:
        return 0
    numbers = [one.number for one in project.journal.reviews.list(task)]
    if not numbers:
        raise UsageError(f"{task} has no review yet", f"ostler review {task}")
    if text == _LAST:
        return numbers[-1]
    if not (text.isascii() and text.isdecimal() and int(text) in numbers):
        known = ", ".join(map(str, numbers))
        raise UsageError(f"{task} has no review {text!r:.40}", f"its reviews: {known}")
    return int(text)


def _parse(kind: CommentKind, given: tuple[str, ...]) -> list[NewComment]:
    """Return the comments of options; without a line they are about the file. Raises UsageError."""
    found: list[NewComment] = []
    for text in given:
        parts = _COMMENT.fullmatch(text)
        if parts is None:
            raise UsageError(
                f"invalid comment {text!r:.80}", "write PATH:LINE=TEXT, PATH:FIRST-LAST=TEXT or PATH=TEXT"
            )
        place = Place(parts[1], "new", *read_lines(parts[2], parts[3]))
        found.append(NewComment(kind, place, parts[4].strip()))
    return found


def _send(
    project: Project,
    task: TaskId,
    verdict: ReviewVerdict | None,
    then: Then,
    message: str,
    comments: list[NewComment],
    commit: str,
) -> Sent:
    state = project.state(task)
    version = show_review(project, task).version
    if not version.startswith(commit):
        at = version[:10] or "no commit"
        raise UsageError(
            f"{task} has changed: it is at {at}, not at {commit[:10]}", f"ostler review {task} --show"
        )
    if verdict == "changes" and not (message.strip() or comments or list_drafts(project, task)):
        raise UsageError("there is nothing to send back", "add -m TEXT or --comment PATH:LINE=TEXT")
    if state.plan.is_document:
        comments = [NewComment(one.kind, _to_document(one.place), one.text) for one in comments]
    if verdict is None:
        if message:
            comments = [NewComment("change", Place(), message), *comments]
        save_comments(project, task, version, comments)
        return Sent(saved=list_drafts(project, task))
    new = NewReview(verdict=verdict, commit=version, text=message, then=then)
    with keep_late_text(project, task, message if verdict == "changes" else ""):
        return Sent(send_comments(project, os.environ, task, new, comments), then=then)


def _to_document(place: Place) -> Place:
    return Place(place.path, "document", place.line, place.end_line)


def _show(project: Project, task: TaskId, since: int | None, as_json: bool) -> None:
    view = show_review(project, task)
    if as_json:
        print_json(view)
        return
    columns, colour = screen_width(), use_colour(sys.stdout)
    for line in render_review(view, read_changes(project, task).summary, columns, colour):
        print_text(line)
    if since is not None:
        shown = read_changes(project, task, since)
        print_text(f"\nChanged since review {since}: {shown.summary}")
        for line in render_changes(shown, place_briefly(view, shown), columns, colour):
            print_text(line)
    if step := next_step(project.show(task)):
        print_hint(f"\nNext: {step}")


def _print_sent(project: Project, task: TaskId, sent: Sent | None, as_json: bool) -> int:
    """Print what was sent, and publish work that was approved for it; return the exit code."""
    if sent is not None and not as_json:
        _print_summary(task, sent)
    elif sent is None and not as_json:
        print_hint("Nothing is sent: the form is unchanged or empty.")
    code = 0
    if sent is not None and sent.then:
        how = "merge" if sent.then == "merge" else "publish"
        line = run_accepted(project, task, how, as_json)
        code = 0 if not line.is_open else 1 if line.result == "failed" else 4
        if not as_json:
            print_lines([line], how, as_json=False)
    elif sent is not None and sent.review and not as_json and (step := next_step(project.show(task))):
        print_hint(f"Next: {step}")
    if as_json:
        print_json(show_review(project, task))
    elif sent is not None and sent.review is not None:
        with suppress(UsageError):
            print_hint(f"Next review: ostler review {_find_next(project, task)}")
    return code


def _print_summary(task: TaskId, sent: Sent) -> None:
    comments = sent.review.comments if sent.review else sent.saved
    print_hint(describe_sent(task, sent))
    for number, comment in enumerate(comments, 1):
        print_hint(_summarize(number, comment))


def _summarize(number: int, comment: Comment) -> str:
    text = to_one_line(comment.text) or "suggestion"
    return truncate(
        f"  {number}. {comment.kind} on {describe_place(comment.place)}: {text}", min(screen_width(), 160)
    )

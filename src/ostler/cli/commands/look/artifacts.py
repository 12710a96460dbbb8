"""What `ostler show` prints with --files, --file and --timeline."""

from __future__ import annotations

import shutil
import sys
import time
from base64 import b64encode
from datetime import datetime

from msgspec import to_builtins

from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import format_span, format_table, to_one_line
from ostler.errors import UsageError
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.project.artifacts.files import open_file
from ostler.project.artifacts.task_folder import LOGS, find_file_folder, find_task_folder, list_task_files
from ostler.project.decisions.dispose import describe_purged
from ostler.project.project import Project
from ostler.views.agent_work.tool_ends import tool_ends
from ostler.views.timeline import Span, Timeline, view_timeline

_COLOURS = {"succeeded": "green", "completed": "green", "failed": "red", "running": "blue"}


def print_files(project: Project, task: TaskId, as_json: bool) -> None:
    """Print the files in the task's directory with their sizes."""
    found = list_task_files(project, task)
    if as_json:
        print_json(to_builtins(found))
    elif not found.files:
        state = project.state(task)
        print_text(f"{describe_purged(state) if state.purged_at else task + ' has no files'}.")
    else:
        print_text(
            format_table(("file", "bytes"), [(to_one_line(one.path), str(one.size)) for one in found.files])
        )
        print_hint(f"\nIn {project.layout.shown_task(task)}.  Next: ostler show {task} --file PATH")


def print_file(project: Project, task: TaskId, path: str, as_json: bool) -> None:
    """Print one of these files as it is; raise UsageError for a path that is none of them."""
    file = open_file(find_file_folder(project, task, path), path)
    if file is None:
        raise UsageError(f"{task} has no file {path!r:.200}", f"ostler show {task} --files")
    with file:
        if not as_json:
            sys.stdout.flush()
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        data = file.read()
    document = {"schema": "ostler.file/1", "id": task, "path": path, "size": len(data)}
    try:
        print_json(document | {"text": data.decode()})
    except UnicodeDecodeError:
        print_json(document | {"base64": b64encode(data).decode()})


def print_timeline(project: Project, task: TaskId, as_json: bool) -> None:
    """Print the phases, attempts, tools and waits of a task in the order of their starts."""
    ends = tool_ends(find_task_folder(project, task, *LOGS))
    timeline = view_timeline(_read_feed(project, task), time.time(), ends)
    if as_json:
        print_json(to_builtins(timeline))
        return
    if not timeline.spans:
        print_text(f"{task} has not been started.  Next: ostler run {task}")
        return
    spans = sorted(timeline.spans, key=lambda span: span.start)
    rows = [_format_span_row(span, timeline) for span in spans]
    colours = [_COLOURS.get(span.status, "") for span in spans]
    print_text(format_table(("start", "status", "duration", "kind", "name"), rows, colours))


def _format_span_row(span: Span, timeline: Timeline) -> tuple[str, ...]:
    start = datetime.fromtimestamp(span.start).strftime("%Y-%m-%d %H:%M:%S")
    seconds = (timeline.now if span.end is None else span.end) - span.start
    length = f"{seconds:.1f} s" if seconds < 60 else format_span(seconds)
    return start, span.status, length, span.kind, to_one_line(f"{span.name} {span.detail}")


def _read_feed(project: Project, task: TaskId) -> list[FeedLine]:
    found: list[FeedLine] = []
    while lines := project.feed(found[-1].position if found else 0, task):
        found += lines
    return found

"""ostler log"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.log_lines import LogRenderer, LogStyle, log_style_for
from ostler.cli.terminal.output import print_hint, print_json
from ostler.cli.terminal.text import escape_controls
from ostler.errors import UsageError
from ostler.model.ids import TaskId, explain_ambiguous
from ostler.project.agents.stored_session import (
    LOG,
    RAW,
    AgentSession,
    find_session,
    find_sessions,
    is_in_use,
    output_path,
)
from ostler.project.artifacts.task_folder import LOGS, find_task_folder
from ostler.project.decisions.dispose import describe_purged
from ostler.project.project import Project
from ostler.views.agent_work.attempt_log import log_path, read_log
from ostler.views.agent_work.transcript import Transcript, list_transcripts, read_from

_POLL_SECONDS = 0.1


@click.command("log")
@click.argument("name", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Print new entries until the task or the turn ends.")
@click.option("--attempt", metavar="N", type=click.IntRange(min=1), help="Only this attempt.")
@click.option(
    "--full", is_flag=True, help="Show everything: complete input and output of tools, diffs, thoughts, JSON."
)
@json_option
def command(name: str, follow: bool, attempt: int | None, full: bool, as_json: bool) -> None:
    """Show what a task's agent wrote and which tools it used, attempt by attempt.

    Texts are paragraphs, and each tool is a line with its result in another one; --full shows everything.
    ID is a task, or a session of ostler agent.
    """
    with open_project() as project:
        found = _find(project, name)
        if isinstance(found, AgentSession):
            _refuse_options_of_tasks(project, found, attempt, full)
            _print_session(project, found, follow, as_json)
        else:
            _print_task(project, found, follow, attempt, full, as_json)


def _find(project: Project, name: str) -> TaskId | AgentSession:
    """Return the task or the session with this id or id prefix; raises UsageError."""
    tasks, sessions = project.journal.find(name) if name else [], find_sessions(project, name)
    if tasks == [name] or not sessions:
        return project.resolve(name)
    if tasks or len(sessions) > 1:
        found = (*tasks, *(one.session_id for one in sessions))
        raise explain_ambiguous(name, found)
    return sessions[0]


def _print_task(
    project: Project, task: TaskId, follow: bool, attempt: int | None, full: bool, as_json: bool
) -> None:
    if (state := project.state(task)).purged_at is not None:
        raise UsageError(f"{describe_purged(state)}: its logs are deleted", f"ostler show {task}")
    reader = _JsonPrinter() if as_json else _TextPrinter(log_style_for(sys.stdout, full))
    while True:
        alive = follow and project.is_claimed(task)
        for page in _select_pages(find_task_folder(project, task, *LOGS), attempt, required=not alive):
            reader.read(page)
        sys.stdout.flush()
        if not alive:
            break
        time.sleep(_POLL_SECONDS)
    if not reader.seen and not as_json:
        print_hint(f"{task} has not been started.  Next: ostler run {task}")


def _refuse_options_of_tasks(
    project: Project, session: AgentSession, attempt: int | None, full: bool
) -> None:
    if attempt is not None or full:
        option = "--full" if full else "--attempt"
        message = f"{option} is for tasks, and {session.session_id} is a session"
        raise UsageError(message, f"its complete output: {output_path(project, session, RAW)}")


def _print_session(project: Project, session: AgentSession, follow: bool, as_json: bool) -> None:
    offset = 0
    while True:
        alive = follow and is_in_use(project, session)
        # The agent may choose another id while it runs.
        path = output_path(project, find_session(project, session.initial_id or session.session_id), LOG)
        if path.exists():
            text, offset = read_from(Transcript(session.session_id, path), offset)
            _print_session_text(session, text, as_json)
        if not alive:
            break
        time.sleep(_POLL_SECONDS)
    if not offset and not as_json:
        print_hint(f"{session.session_id} has no log.  Its raw output: {output_path(project, session, RAW)}")


def _print_session_text(session: AgentSession, text: str, as_json: bool) -> None:
    if text and as_json:
        print_json({"schema": "ostler.log/1", "session_id": session.session_id, "text": text})
    else:
        sys.stdout.write(escape_controls(text))
        sys.stdout.flush()


def _select_pages(directory: Path, attempt: int | None, *, required: bool) -> list[Transcript]:
    found = list_transcripts(directory)
    selected = [page for page in found if attempt in (None, page.number)]
    if found and not selected and required:
        numbers = ", ".join(str(page.number) for page in found)
        raise UsageError(f"this task has no attempt {attempt}", f"its attempts: {numbers}")
    return selected


class _TextPrinter:
    """Prints the new entries of each attempt as text."""

    def __init__(self, style: LogStyle) -> None:
        self._style = style
        self._renderers: dict[str, LogRenderer] = {}
        # The attempt of the last printed line.
        self._printed = ""
        self.seen: dict[str, int] = {}

    def read(self, page: Transcript) -> None:
        """Print the entries since the last call, with an empty line between two attempts."""
        renderer = self._renderers.setdefault(page.name, LogRenderer(self._style))
        offset = self.seen.get(page.name, 0)
        while (part := read_log(log_path(page), offset)).next != offset:
            for entry in part.entries:
                self._print(page, renderer.render(entry))
            offset = part.next
        self.seen[page.name] = offset

    def _print(self, page: Transcript, lines: Iterable[str]) -> None:
        for line in lines:
            if page.name != self._printed and self._printed:
                sys.stdout.write("\n")
            self._printed = page.name
            sys.stdout.write(f"{line}\n")


class _JsonPrinter:
    """Prints the new text of each attempt as JSON (ostler.log/1)."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def read(self, page: Transcript) -> None:
        text, self.seen[page.name] = read_from(page, self.seen.get(page.name, 0))
        if text:
            print_json({"schema": "ostler.log/1", "attempt": page.name, "number": page.number, "text": text})

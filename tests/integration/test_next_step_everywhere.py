"""Every interface gives the same advice about the same task, for every status and every code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest
from click.testing import CliRunner
from msgspec import Struct

from ostler.cli.commands.look import show as show_command
from ostler.cli.terminal.run.run_summary import print_run_summary
from ostler.engine.records import append_computed_event
from ostler.errors import CODES, Code, Origin, WarningCode
from ostler.mcp.arguments import TaskArguments
from ostler.mcp.tools import show as show_tool
from ostler.model.attempt import Attempt
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    Event,
    GateWaiting,
    TaskBlocked,
    TaskCancelled,
    TaskClaimed,
    TaskCompleted,
    TaskDeferred,
    TaskFailed,
    TaskPaused,
    TaskReleased,
    TaskReopened,
    TaskStarted,
)
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome
from ostler.model.status import TaskStatus
from ostler.model.task import Output, Task
from ostler.notify.message import decode, encode
from ostler.notify.occasion import occasion_of
from ostler.project.project import Project
from ostler.project.running import integrations
from ostler.views.lists.board import BoardRow
from ostler.web.guard import Keys
from ostler.web.requests import TasksQuery
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.tasks import list_tasks
from ostler.web.site import Site

_S = TaskStatus
FAILED = [TaskFailed(Code.TIMEOUT, "x"), TaskReopened(), TaskClaimed("run")]
DENIED = CallEnded("implement", 1, "continue", warnings=(WarningCode.PERMISSION_DENIED,))
# The decision of a button, and the command that makes the same decision.
COMMANDS = {"approve": "approve", "reply": "resume", "resume": "resume", "retry": "retry"}


class Case(Struct, frozen=True):
    """A task in one status, with the events that lead there."""

    status: TaskStatus
    code: Code | None
    events: tuple[Event, ...]
    notified: bool = True
    note: str = ""

    @property
    def name(self) -> str:
        return f"{self.status}-{self.code}-{self.note}"


def _cases() -> Iterator[Case]:
    yield Case(_S.PENDING, None, (), notified=False)
    yield Case(_S.PENDING, Code.INTERRUPTED, (TaskClaimed("run"), TaskReleased("Ctrl-C")), notified=False)
    yield Case(
        _S.COMPLETED, None, (TaskClaimed("run"), TaskStarted("w", "ostler/x"), TaskCompleted("c0ffee"))
    )
    yield Case(_S.COMPLETED, None, (TaskClaimed("run"), TaskCompleted()), note="in place")
    yield Case(_S.CANCELLED, Code.ABORTED, (TaskCancelled("no need"),), notified=False)
    waiting = GateWaiting("implement", "c0ffee", "look at it")
    yield Case(_S.NEEDS_REVIEW, None, (TaskClaimed("run"), waiting))
    yield Case(_S.NEEDS_REVIEW, None, (TaskClaimed("run"),), note="document")
    paused = TaskPaused(Code.ITERATION_LIMIT, "x")
    yield Case(_S.PAUSED, paused.code, (TaskClaimed("run"), DENIED, paused), note="denied")
    yield Case(_S.PAUSED, None, (TaskClaimed("run"), TaskPaused(None, "the agent paused")))
    blocked = TaskBlocked(Code.DEPENDENCY_FAILED, "x")
    yield Case(_S.BLOCKED, blocked.code, (TaskClaimed("run"), blocked), note="with a dependency")
    refused = TaskFailed(Code.AUTH_FAILED, "x")
    yield Case(_S.FAILED, refused.code, (TaskClaimed("run"), refused), note="logged out")
    for code in Code:
        yield Case(_S.BLOCKED, code, (TaskClaimed("run"), TaskBlocked(code, "x")))
        yield Case(_S.PAUSED, code, (TaskClaimed("run"), TaskPaused(code, "x")))
        yield Case(_S.FAILED, code, (TaskClaimed("run"), TaskFailed(code, "x")))
        yield Case(_S.QUARANTINED, code, (TaskClaimed("run"), *FAILED, *FAILED, TaskFailed(code, "x")))
        # A provider that defers many tasks is reported once, by provider_unavailable.
        notified = CODES[code].origin is not Origin.PROVIDER
        deferred = TaskDeferred(code, "x", time.time() + 90_000)
        yield Case(_S.DEFERRED, code, (TaskClaimed("run"), deferred), notified)


CASES = list(_cases())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("project")
    with Project.open(root, {}, create=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def tasks(project: Project) -> dict[TaskId, Case]:
    """One task per case."""
    first = project.add(Task("The first")).id
    return {_make_task(project, case, first): case for case in CASES}


def _make_task(project: Project, case: Case, first: TaskId) -> TaskId:
    document = case.note == "document"
    after = (first,) if case.note == "with a dependency" else ()
    output = Output("outputs/report.md") if document else None
    task = project.add(Task("A task", after=after, output=output)).id
    phase = project.state(task).current.id
    written = (CheckpointMade(phase, output="outputs/report.md"), GateWaiting(phase, "", "read it"))
    for event in (*case.events, *(written if document else ())):
        append_computed_event(project.journal, task, lambda _, event=event: event, time.time())
    if case.note == "logged out":
        project.journal.begin_attempt(Attempt(task, "step", "run", "implement", 1, "codex", time.time()))
    return task


def ask_show(project: Project, task: TaskId) -> str:
    """`ostler show ID`"""
    result = CliRunner().invoke(show_command.command, [task], catch_exceptions=False)
    return _after_next(result.output)


def ask_mcp(project: Project, task: TaskId) -> str:
    """The tool `show`: its text and its document agree."""
    result = show_tool(project, TaskArguments(id=task))
    assert _after_next(result.text) == result.document["next"]
    return result.document["next"]


def ask_summary(project: Project, task: TaskId) -> str:
    """The last line of `ostler run`, which is printed to stderr."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as errors:
        print_run_summary(project, [Outcome(task, project.show(task).status)], as_json=False)
    return _after_next(errors.getvalue())


def ask_notification(project: Project, task: TaskId) -> str:
    """The message that a target receives."""
    lines = project.feed(0, task)
    occasion = next(found for line in reversed(lines) if (found := occasion_of(line)) is not None)
    body = encode(
        occasion, "store", "target", "project", integrations._describe(project.layout, project.journal, task)
    )
    return decode(body).next


def _after_next(text: str) -> str:
    _, found, step = text.partition("Next: ")
    return step.splitlines()[0] if found else ""


@pytest.fixture
def rows(project: Project, tasks: dict[TaskId, Case]) -> Iterator[dict[str, BoardRow]]:
    """The rows of `GET /tasks`."""
    site = Site(project, "http://127.0.0.1:1", Keys(1), {}, runs_tasks=False)
    try:
        page = list_tasks(site, project, RequestParts({}, TasksQuery(limit=500), Empty()))
        assert page.total == len(tasks) + 1 and page.next is None
        yield {row.id: row for row in page.tasks}
    finally:
        site.close()


@pytest.mark.full
def test_every_interface_gives_the_same_advice(
    project: Project,
    tasks: dict[TaskId, Case],
    rows: dict[str, BoardRow],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """CLI, API, MCP and notifications name the same commands (finding U1)."""
    monkeypatch.chdir(project.layout.root)
    differences = []
    for task, case in tasks.items():
        assert (rows[task].status, rows[task].code) == (case.status, case.code), case.name
        advice = {"api": rows[task].next_step, "show": ask_show(project, task), "mcp": ask_mcp(project, task)}
        if case.status is not _S.COMPLETED:
            # After a completed task the summary lists the commands that show its result.
            advice["summary"] = ask_summary(project, task)
        if case.notified:
            advice["notification"] = ask_notification(project, task)
        if len(set(advice.values())) != 1:
            differences.append((case.name, advice))
    assert not differences


def test_a_button_makes_a_decision_that_the_advice_names(
    tasks: dict[TaskId, Case], rows: dict[str, BoardRow]
) -> None:
    """Every task that waits for a person has a button."""
    for task, case in tasks.items():
        row = rows[task]
        if row.asks is not None:
            assert f"ostler {COMMANDS[row.asks]} " in row.next_step, (case.name, row.asks, row.next_step)
        waits = case.status in (_S.NEEDS_REVIEW, _S.BLOCKED, _S.PAUSED, _S.FAILED, _S.QUARANTINED)
        assert row.asks is not None or not waits, case.name


def test_the_cases_that_used_to_differ(tasks: dict[TaskId, Case], rows: dict[str, BoardRow]) -> None:
    """A budget is raised before a retry; a gate's command is fixed; a dependency is named."""
    by_name = {case.name: rows[task] for task, case in tasks.items()}
    budget = by_name["paused-BUDGET_EXCEEDED-"]
    assert "ostler retry" in budget.next_step and "ostler resume" not in budget.next_step
    assert "fix the gate's command" in by_name["blocked-GATE_UNRUNNABLE-"].next_step
    dependency = by_name["blocked-DEPENDENCY_FAILED-with a dependency"]
    assert f"ostler retry {dependency.waits_for[0]}" in dependency.next_step
    assert "read outputs/report.md" in by_name["needs_review-None-document"].next_step
    assert "denied" in by_name["paused-ITERATION_LIMIT-denied"].next_step
    assert "codex login" in by_name["failed-AUTH_FAILED-logged out"].next_step

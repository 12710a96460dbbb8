"""The tools, with the descriptions that a model reads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs, to_builtins

from ostler.config.checks.expect import explain_invalid, find_problem
from ostler.errors import UsageError
from ostler.mcp import reviews
from ostler.mcp.arguments import ListArguments, NoArguments, ReportArguments, SubmitArguments, TaskArguments
from ostler.mcp.results import TaskResult, ToolResult, describe_task, no_run_message
from ostler.model.status import EXECUTABLE
from ostler.project.actions import ACTIONS, Action
from ostler.project.agents.inside_sandbox import InsideSandbox
from ostler.project.apply_action import apply_action
from ostler.project.artifacts.task_view import show_task
from ostler.project.bulk_retry import RetriedTasks, RetryFilter, retry_matching
from ostler.project.decisions.action import ONLY_IF_DECIDED
from ostler.project.inspection.inspect_project import inspect_project
from ostler.project.preflight import check_new
from ostler.project.project import Project
from ostler.project.running.active_runs import ActiveRun, list_active_runs
from ostler.project.running.current_attempt import CurrentAttempt
from ostler.project.tasks.edit import TaskChanges, edit_task
from ostler.project.tasks.submission import create_task
from ostler.prompt.report import parse_report
from ostler.views.preflight import PreflightView, view_problems
from ostler.views.task import TaskView, as_json

Effect = Literal["reads", "adds", "ends"]
"""Whether a tool only reads, records something, or stops work."""

# Replacements in msgspec's messages.
_PLAIN_ERRORS = {
    "Object contains unknown field": "unknown argument",
    "Object missing required field": "missing argument",
}


class ToolSpec(Struct, frozen=True):
    """A tool: name, description, types of arguments and result, and the function to call."""

    name: str
    title: str
    description: str
    arguments: type[Struct]
    result: type[Struct]
    call: Callable[[Project, Any], ToolResult]
    effect: Effect = "adds"
    always_load: bool = False  # Claude Code lists it without a search
    # Instead of `call`, in the sandbox of a task, where there is no journal.
    call_in_sandbox: Callable[[InsideSandbox, Any], ToolResult] | None = None


class TaskListRow(Struct, frozen=True):
    id: str
    title: str
    status: str
    priority: str
    phase: str
    code: str | None
    message: str
    updated_at: str
    resumes_at: str | None
    waits_for: tuple[str, ...]
    cost_usd: float | None


class TaskList(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.status/1"
    total: int  # number of tasks that match
    tasks: list[TaskListRow]
    runs: list[ActiveRun]
    next: str


class ReportResult(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.report/1"
    task_id: str
    attempt: int
    status: str


class ProposalResult(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.proposal/1"
    id: str
    proposed_by: str


def read_arguments(tool: ToolSpec, values: dict[str, Any]) -> Struct:
    """Return the arguments of a tool; raise UsageError for wrong or missing ones."""
    for name, value in values.items():
        if reason := find_problem(value):
            raise UsageError(f"{tool.name}: {name[:80]}{reason}", "leave it out")
    try:
        return msgspec.convert(values, tool.arguments)
    except msgspec.ValidationError as error:
        name, message = explain_invalid(error)
        for original, plain in _PLAIN_ERRORS.items():
            message = message.replace(original, plain)
        message = f"{name}: {message}" if name else message
        expected = ", ".join(tool.arguments.__struct_fields__)
        raise UsageError(f"{tool.name}: {message}", f"expected {expected}") from None


def submit(project: Project, arguments: SubmitArguments) -> ToolResult:
    """Add a task; the text lists what it lacks before it can run."""
    task = create_task(arguments)
    warnings = "".join(f"\nWarning: {one.text}" for one in check_new(project, task))
    result = describe_task(project, project.show(project.add(task).id))
    return ToolResult(result.text + warnings, result.document)


def show(project: Project, arguments: TaskArguments) -> ToolResult:
    """Return one task with its attempts."""
    found = show_task(project, project.resolve(arguments.id), os.environ, time.time())
    return describe_task(project, found, attempts=True)


def check_project(project: Project, arguments: NoArguments) -> ToolResult:
    """Return what a run needs and lacks."""
    view = view_problems(inspect_project(project.layout.root, os.environ))
    lines = [f"{one.severity}: {one.text}" for one in view.problems]
    return ToolResult("\n".join(lines) or "A run lacks nothing.", to_builtins(view))


def list_tasks(project: Project, arguments: ListArguments) -> ToolResult:
    """Return the tasks that match, last changed first, and the active runs."""
    found = _find_tasks(project, arguments)
    rows = [_make_row(view, arguments.compact) for view in found[: arguments.limit]]
    runs = list_active_runs(project.layout)
    step = no_run_message() if not runs and any(view.status in EXECUTABLE for view in found) else ""
    document = to_builtins(TaskList(total=len(found), tasks=[], runs=runs, next=step)) | {"tasks": rows}
    return ToolResult(f"{_summarize(found)}. {step}".strip(), document)


def report(attempt: CurrentAttempt, project: Project, arguments: ReportArguments) -> ToolResult:
    """Record the agent's report on its own task."""
    reported = parse_report(arguments.status, arguments.reason)
    task = project.resolve(attempt.task)
    project.report(task, attempt.attempt, reported)
    result = ReportResult(task_id=task, attempt=attempt.attempt, status=arguments.status)
    return ToolResult(f"{task} is reported {arguments.status}. End your turn now.", to_builtins(result))


def report_in_sandbox(
    attempt: CurrentAttempt, inside: InsideSandbox, arguments: ReportArguments
) -> ToolResult:
    """Leave the agent's report in its state file."""
    inside.report(parse_report(arguments.status, arguments.reason))
    result = ReportResult(task_id=inside.task, attempt=attempt.attempt, status=arguments.status)
    return ToolResult(
        f"{inside.task} is reported {arguments.status}. End your turn now.", to_builtins(result)
    )


def propose_in_sandbox(inside: InsideSandbox, arguments: SubmitArguments) -> ToolResult:
    """Leave a proposal for the run, which records it after the attempt."""
    found = inside.propose(create_task(arguments))
    text = f"{found} is recorded when your turn ends, and starts when a person approves it."
    return ToolResult(text, to_builtins(ProposalResult(id=found, proposed_by=inside.task)))


def list_inside_tools(attempt: CurrentAttempt, is_sandboxed: bool = False) -> tuple[ToolSpec, ...]:
    """Return the tools inside a task: a report takes no id, since the task is that of this process."""
    propose = ToolSpec(
        "submit",
        "Propose a task",
        "Propose a task for work that does not belong to yours. It starts when a person approves it.",
        SubmitArguments,
        ProposalResult if is_sandboxed else TaskResult,
        submit,
        call_in_sandbox=propose_in_sandbox,
    )
    return _make_report_tool(attempt), propose


def _make_report_tool(attempt: CurrentAttempt) -> ToolSpec:
    return ToolSpec(
        "report",
        "Report on your task",
        f"Report the status of your own task, {attempt.task}. Call it once, at the end of your work or when "
        "you cannot continue; the last report counts.",
        ReportArguments,
        ReportResult,
        partial(report, attempt),
        always_load=True,
        call_in_sandbox=partial(report_in_sandbox, attempt),
    )


def _find_tasks(project: Project, arguments: ListArguments) -> list[TaskView]:
    text = arguments.filter.casefold()
    found = [
        view
        for view in project.tasks()
        if (not arguments.status or view.status in arguments.status)
        and (text in view.id or text in view.title.casefold())
    ]
    return sorted(found, key=lambda view: view.updated_at, reverse=True)


def _make_row(view: TaskView, compact: bool) -> dict[str, Any]:
    document = as_json(view, attempts=False)
    return {name: document[name] for name in TaskListRow.__struct_fields__} if compact else document


def _summarize(found: list[TaskView]) -> str:
    counts: dict[str, int] = {}
    for view in found:
        counts[view.status] = counts.get(view.status, 0) + 1
    noun = "task" if len(found) == 1 else "tasks"
    by_status = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"{len(found)} {noun}: {by_status}" if found else "No tasks"


def _make_tool(action: Action) -> ToolSpec:
    """Return the tool of an action: its parameters, and the id of the task."""
    fields = [
        (field.name, field.type) if field.required else (field.name, field.type, field.default)
        for field in (*structs.fields(TaskArguments), *structs.fields(action.params))
    ]
    arguments_type = msgspec.defstruct(
        f"{action.name.title()}Arguments", fields, frozen=True, forbid_unknown_fields=True, kw_only=True
    )

    def apply(project: Project, arguments: Any) -> ToolResult:
        values = {name: getattr(arguments, name) for name in action.params.__struct_fields__}
        task = project.resolve(arguments.id)
        return describe_task(project, apply_action(project, os.environ, task, action.name, **values))

    description = f"{action.details} {action.agent_note}".strip()
    title = f"{action.name.capitalize()} a task"
    effect = "ends" if action.ends_task else "adds"
    return ToolSpec(action.name, title, description, arguments_type, TaskResult, apply, effect)


_EditArguments = msgspec.defstruct(
    "EditArguments",
    [
        (field.name, field.type) if field.required else (field.name, field.type, field.default)
        for field in (*structs.fields(TaskArguments), *structs.fields(TaskChanges))
    ],
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
)


def edit(project: Project, arguments: Any) -> ToolResult:
    """Edit an open task."""
    changes = TaskChanges(**{name: getattr(arguments, name) for name in TaskChanges.__struct_fields__})
    return describe_task(project, edit_task(project, project.resolve(arguments.id), changes, "mcp"))


def retry_many(project: Project, arguments: RetryFilter) -> ToolResult:
    """Make the matching tasks pending again."""
    retried = retry_matching(project, os.environ, arguments)
    count = len(retried.tasks)
    text = f"{count} {'task is' if count == 1 else 'tasks are'} pending again" if count else "No task matches"
    step = no_run_message() if count and not list_active_runs(project.layout) else ""
    return ToolResult(f"{text}. {step}".strip(), to_builtins(retried))


_REVIEWS = (
    ToolSpec(
        "review",
        "Show the review of a task",
        "Show what a person decides about: the version of the work, its gates, the agent's summary, changed "
        "files, comments and the agent's answers; with `patch` also the changes.",
        reviews.ReviewArguments,
        reviews.ReviewResult,
        reviews.review,
        "reads",
    ),
    ToolSpec(
        "comment",
        "Save a comment on the work of a task",
        "Save a comment on lines of a task's work as a draft, which the person can change or delete in the "
        "dashboard. Nothing is sent to the agent.",
        reviews.CommentArguments,
        reviews.ReviewResult,
        reviews.comment,
    ),
    ToolSpec(
        "send_review",
        "Send a review",
        "Approve the work of a task, or send it back to its agent with all comments that are not sent yet. "
        f"{ONLY_IF_DECIDED}",
        reviews.SendReviewArguments,
        reviews.ReviewResult,
        reviews.send_review,
    ),
)

TOOLS = (
    ToolSpec(
        "submit",
        "Create a task",
        "Create a task for an unattended agent. A run that the person starts works on it in its own worktree "
        "and leaves a branch. This tool starts nothing.",
        SubmitArguments,
        TaskResult,
        submit,
    ),
    ToolSpec(
        "list",
        "List tasks",
        "List the tasks of the project with their status, last changed first.",
        ListArguments,
        TaskList,
        list_tasks,
        "reads",
    ),
    ToolSpec(
        "show",
        "Show a task",
        "Show one task in full: status and reason, branch and commit, phases and gates, attempts, "
        "tokens and cost.",
        TaskArguments,
        TaskResult,
        show,
        "reads",
    ),
    ToolSpec(
        "preflight",
        "Check what a run needs",
        "List what a run of the project's tasks needs and lacks: mistakes in settings and files with their "
        "lines, missing programs and logins.",
        NoArguments,
        PreflightView,
        check_project,
        "reads",
    ),
    ToolSpec(
        "edit",
        "Edit a task",
        "Edit an open task. The next agent call uses the new values; weight and dependencies can change only "
        "before the first run.",
        _EditArguments,
        TaskResult,
        edit,
    ),
    *_REVIEWS,
    *(_make_tool(action) for action in ACTIONS.values()),
    ToolSpec(
        "retry_many",
        "Retry many tasks",
        "Make many tasks pending again: every failed one, those that stopped with a code, or those that "
        "changed since a time.",
        RetryFilter,
        RetriedTasks,
        retry_many,
    ),
)

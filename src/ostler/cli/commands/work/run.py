"""ostler run"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from ostler.cli.breaks import PROMPT, check_phases, parse_breakpoint
from ostler.cli.commands.work.new import add_task
from ostler.cli.detach import READY_OPTION, notify_when_ready, reject_interactive, run_detached
from ostler.cli.event_loop import run_loop
from ostler.cli.options import JOBS, json_option, open_project
from ostler.cli.signals import SignalHandler, stop_run
from ostler.cli.task_input import read_task
from ostler.cli.terminal.confinement import print_unconfined
from ostler.cli.terminal.output import print_hint, print_text
from ostler.cli.terminal.problems import print_warnings
from ostler.cli.terminal.run.not_started import has_held
from ostler.cli.terminal.run.progress import open_progress
from ostler.cli.terminal.run.show_run import find_deferred, show_progress
from ostler.cli.terminal.streams import ignore_closed_output
from ostler.clock import SystemClock
from ostler.errors import Code, OstlerError, UsageError
from ostler.model.ids import TaskId, make_task_id
from ostler.model.outcome import Outcome, combine_exit_codes, combine_with_holds, combine_with_refusal
from ostler.model.status import TERMINAL, TaskStatus
from ostler.model.task import WEIGHTS, Task, Weight
from ostler.process.detached import keep_descriptor_private
from ostler.process.forker_client import shared_forker
from ostler.process.orphans import become_subreaper
from ostler.project.preflight import (
    check_ready,
    find_ready_tasks,
    is_cluster,
    list_due_tasks,
    require_startable,
)
from ostler.project.project import Project
from ostler.project.registry.known_projects import remember_project
from ostler.project.running.active_runs import register_run
from ostler.project.running.review_timeouts import apply_review_timeouts

if TYPE_CHECKING:
    from ostler.cli.terminal.run.stepper import Stepper

_TITLE_COLUMNS = 72


@click.command("run")
@click.argument("tasks", nargs=-1, metavar="[ID]...")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Run every ready task: new, due again, or left behind by an interrupted run.",
)
@click.option("-p", "--prompt", metavar="TEXT", help="Create a task with this text and run it.")
@click.option(
    "-f", "--file", metavar="FILE.md", help="Create a task from a Markdown file and run it; - reads stdin."
)
@click.option(
    "--changed",
    metavar="[BRANCH]",
    is_flag=False,
    flag_value="",
    help="With -p or -f: name the files changed since a branch in the prompt; run nothing when none changed.",
)
@click.option(
    "--include-changes", is_flag=True, help="With -p or -f: start from a commit of your uncommitted changes."
)
@click.option(
    "-w",
    "--weight",
    metavar="SIZE",
    type=click.Choice(WEIGHTS),
    help=f"The size of the new task: {', '.join(WEIGHTS)}.  [default: trivial with -p, small with -f]",
)
@click.option("-j", "--jobs", metavar="N", type=JOBS, help='Tasks to run in parallel, or "auto".')
@click.option("--executor", metavar="NAME", help="The agent; recorded with tasks that name another.")
@click.option("--model", metavar="NAME", help="The model; recorded with tasks that name another.")
@click.option(
    "--profile",
    metavar="NAME",
    type=click.Choice(("auto", "fast", "safe", "strict")),
    help="The gates of the new task: auto, fast, safe, strict.",
)
@click.option(
    "--wait/--no-wait",
    default=None,
    help="Wait for rate limits to end, or leave the tasks deferred.  [default: wait in a terminal]",
)
@click.option("--fail-fast", is_flag=True, help="Start no further task after the first failure.")
@click.option("--step", is_flag=True, help="Ask before each agent call: continue, edit the prompt, or stop.")
@click.option(
    "--break",
    "breaks",
    metavar="WHERE",
    multiple=True,
    help="Stop and ask at a phase, pre-prompt (each prompt), tool:NAME or tool; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Show the first call of each task and its prompt; run nothing.")
@click.option("--detach", is_flag=True, help="Run in the background and return when the run has started.")
@click.option(READY_OPTION, "ready_descriptor", type=int, hidden=True)
@json_option
def command(
    tasks: tuple[str, ...],
    everything: bool,
    prompt: str | None,
    file: str | None,
    changed: str | None,
    include_changes: bool,
    weight: Weight | None,
    jobs: int | None,
    executor: str | None,
    model: str | None,
    profile: str | None,
    wait: bool | None,
    fail_fast: bool,
    step: bool,
    breaks: tuple[str, ...],
    dry_run: bool,
    detach: bool,
    ready_descriptor: int | None,
    as_json: bool,
) -> int:
    """Run agents on tasks until each task ends or needs you.

    Ctrl-C stops the agents and keeps all work; press it again to stop at once.
    """
    is_new = prompt is not None or file is not None
    _require_one(
        {"task ids": bool(tasks), "--all": everything, "-p": prompt is not None, "-f": file is not None}
    )
    if changed is not None and not is_new:
        raise UsageError("--changed needs -p or -f", 'ostler run --changed -p "Review this change"')
    if include_changes and not is_new:
        raise UsageError("--include-changes needs -p or -f", "ostler new TITLE --include-changes")
    if ready_descriptor is not None:
        keep_descriptor_private(ready_descriptor)
    if detach:
        reject_interactive(step, dry_run, bool(breaks))
    stepper = _make_stepper(as_json, step, breaks) if (step or breaks) and not dry_run else None
    flags = {
        "run.jobs": 1 if stepper else jobs,
        "run.executor": executor,
        "run.model": model,
        "phases.profile": profile,
    }
    with open_project({key: value for key, value in flags.items() if value}, create=is_new) as project:
        _prepare_engine(
            project,
            {"--jobs": jobs, "--fail-fast": fail_fast, "--step": step, "--break": breaks}
            | ({} if is_new else {"--model": model, "--executor": executor}),
            spawns=not (dry_run or detach),
        )
        if is_new:
            task = _set_agent(project, _make_task(prompt, file, weight), executor, model)
            if changed is not None:
                since, task = _add_changed_files(project, task, changed)
                if task is None:
                    return _print_nothing_changed(since, as_json)
            print_warnings(check_ready(project, [task]))
            if dry_run:
                project.create()  # the turns of the models are read
                return _print_dry_run(project, [replace(task, id=make_task_id(task.title, "xxxx"))], as_json)
            if stepper is not None:
                check_phases(stepper.breakpoints, project, [task])
            task_ids, refused = [add_task(project, task, include_changes).id], False
        else:
            if (model or executor) and not dry_run:
                _override_agents(project, [project.resolve(task) for task in tasks], model, executor)
            task_ids, refused = _resolve(project, tasks, follows=not detach and not dry_run)
            _warn_about_changes(project, task_ids)
            _warn_about_settings(project, task_ids)
            if dry_run:
                return _print_dry_run(project, list_due_tasks(project, task_ids), as_json)
            if stepper is not None:
                named = [project.task(task) for task in task_ids]
                check_phases(stepper.breakpoints, project, named or list_due_tasks(project, []))
        remember_project(project.layout.root, os.environ)
        waits = sys.stdout.isatty() and not as_json if wait is None else wait
        if is_cluster(project.settings):
            return combine_with_refusal(
                _run_on_workers(project, task_ids, as_json, waits, detach, is_new), refused
            )
        if detach:
            options = {"--jobs": jobs, "--executor": executor, "--model": model, "--profile": profile}
            switches = {"--wait": waits, "--no-wait": not waits, "--fail-fast": fail_fast}
            started = run_detached(project.layout, task_ids, options, switches, as_json)
            return combine_with_refusal(started, refused)
        _print_unconfined(project, task_ids)
        run = run_tasks(project, task_ids, as_json, True, stepper, waits, fail_fast, ready_descriptor)
        try:
            return combine_with_refusal(run_loop(run), refused)
        except OstlerError as error:
            if is_new and error.code in (Code.CONFIG_INVALID, Code.AUTH_FAILED):
                error.hint = f"correct it, then: ostler run {task_ids[0]}"
            raise


def _prepare_engine(project: Project, options: Mapping[str, object], *, spawns: bool) -> None:
    """Start the forker for local agents, or raise UsageError for an option that only a local run has."""
    if not is_cluster(project.settings):
        if spawns:  # it starts while the modules of a run are imported
            shared_forker().prepare_keeper()
    elif given := [name for name, value in options.items() if value]:
        message = f'{given[0]} has no effect with engine.kind = "temporal": workers run the tasks'
        raise UsageError(message, f"omit {given[0]}")


def _set_agent(project: Project, task: Task, executor: str | None, model: str | None) -> Task:
    """Record the agent of the options with a new task of a cluster, whose workers do not have them."""
    if not is_cluster(project.settings):
        return task
    return replace(task, executor=executor or task.executor, model=model or task.model)


def _run_on_workers(project: Project, task_ids: list[TaskId], *how: bool) -> int:
    from ostler.cli.commands.work.run_in_cluster import run_on_workers  # noqa: PLC0415

    return run_on_workers(project, task_ids, *how)


def _require_one(ways: dict[str, bool]) -> None:
    """Raise UsageError unless the tasks are named in exactly one way."""
    given = [way for way, is_given in ways.items() if is_given]
    if len(given) != 1:
        what = f"{' and '.join(given)} cannot be combined: pass" if given else "nothing to run: pass"
        hint = "ostler run ID...   or   ostler run --all   or   ostler run -p TEXT"
        raise UsageError(f"{what} either task ids, --all, -p or -f", hint)


def _warn_about_changes(project: Project, task_ids: list[TaskId]) -> None:
    """Warn about uncommitted changes that the tasks which start now do not include."""
    from ostler.project.tasks.uncommitted import describe_uncommitted  # noqa: PLC0415

    due = [task for task in list_due_tasks(project, task_ids) if project.state(task.id).base is None]
    if due and (warning := describe_uncommitted(project, due)):
        print_hint(warning)


def _warn_about_settings(project: Project, task_ids: list[TaskId]) -> None:
    """Warn about changed settings that the tasks which start now do not use."""
    from ostler.project.accept_settings import describe_unused_settings  # noqa: PLC0415

    due = [task.id for task in list_due_tasks(project, task_ids)]
    for message in describe_unused_settings(project, due):
        print_hint(message)


def _print_unconfined(project: Project, task_ids: list[TaskId]) -> None:
    """Print that agents run without a sandbox, if any agent starts now."""
    if list_due_tasks(project, task_ids):
        print_unconfined(project)


def _make_task(prompt: str | None, file: str | None, weight: Weight | None) -> Task:
    """Return the new task of -p or -f."""
    if prompt is None:
        task = read_task(None, None, file)
        return replace(task, weight=weight or task.weight)
    title = " ".join(prompt.split())
    short = title if len(title) <= _TITLE_COLUMNS else title[: _TITLE_COLUMNS - 1].rstrip() + "…"
    return Task(short, prompt, weight=weight or "trivial")


def _override_agents(
    project: Project, task_ids: list[TaskId], model: str | None, executor: str | None
) -> None:
    """Record the agent of the options for tasks that name another one; the others use the options anyway."""
    from ostler.project.tasks.edit import override_agents  # noqa: PLC0415

    for task, what in override_agents(project, list_due_tasks(project, task_ids), model, executor):
        print_hint(f"{task} is edited: {what}")


def _add_changed_files(project: Project, task: Task, base: str) -> tuple[str, Task | None]:
    """Return the base branch and the task with the files changed since it; None when none changed."""
    from ostler.project.tasks.changes import append_file_list, find_branch_changes  # noqa: PLC0415

    since, files = find_branch_changes(project, base)
    return since, append_file_list(task, since, files) if files else None


def _print_dry_run(project: Project, tasks: list[Task], as_json: bool) -> int:
    from ostler.cli.terminal.run.dry_run import print_dry_runs  # noqa: PLC0415

    return print_dry_runs(project, tasks, as_json)


def _make_stepper(as_json: bool, step: bool, breaks: tuple[str, ...]) -> Stepper:
    from ostler.cli.terminal.run.stepper import make_stepper  # noqa: PLC0415

    words = (*breaks, PROMPT) if step and breaks else breaks
    return make_stepper(as_json, [parse_breakpoint(text) for text in words])


def _print_nothing_changed(since: str, as_json: bool) -> int:
    if not as_json:
        print_text(f"Nothing to run: no file changed since {since}.")
    return 0


def _resolve_ready(project: Project) -> tuple[list[TaskId], bool]:
    """Return the tasks that lack nothing, empty for all, and whether others are refused."""
    for message in apply_review_timeouts(project, SystemClock.now()):
        print_hint(message)
    found = find_ready_tasks(project)
    print_warnings(found.warnings)
    for message in found.refused:
        print_hint(message)
    return (found.ready, True) if found.refused else ([], False)


def _resolve(project: Project, tasks: tuple[str, ...], *, follows: bool) -> tuple[list[TaskId], bool]:
    """Return the named tasks, or the ready ones; raises UsageError for a task that must be retried first.

    A run that follows workers shows its end instead: they may be faster than this command.
    """
    if not tasks:
        return _resolve_ready(project)
    found = [project.resolve(task) for task in tasks]
    shows_end = follows and is_cluster(project.settings)
    for task in found:
        status = project.show(task).status
        is_over = status in TERMINAL and status not in (TaskStatus.COMPLETED, TaskStatus.APPROVED)
        if is_over and not shows_end:
            raise UsageError(f"{task} is {status}", f"ostler retry {task}   makes it pending again")
        require_startable(project, task, found)
    print_warnings(check_ready(project, list_due_tasks(project, found)))
    return found, False


async def run_tasks(
    project: Project,
    task_ids: list[TaskId],
    as_json: bool,
    print_summary: bool = False,
    stepper: Stepper | None = None,
    wait: bool = False,
    fail_fast: bool = False,
    ready_descriptor: int | None = None,
    jobs: int | None = None,
) -> int:
    """Run these tasks, or all ready ones for an empty list, with progress; return the exit code.

    In a cluster its workers run them.
    """
    if is_cluster(project.settings):
        from ostler.cli.commands.work.run_in_cluster import run_in_cluster  # noqa: PLC0415

        return await run_in_cluster(project, task_ids, as_json, wait, print_summary=print_summary)
    from ostler.project.ostler import Ostler  # noqa: PLC0415  (imported while the forker starts)

    become_subreaper()
    ignore_closed_output()
    ostler = Ostler(project, os.environ, stepper, print_message=print_hint)
    signals = SignalHandler(partial(stop_run, ostler), stepper, request=project.journal.stop_request)
    try:
        work = asyncio.create_task(
            ostler.run_all(task_ids or None, jobs, wait=wait, fail_fast=fail_fast, details=False)
        )
        deferred = find_deferred(project, task_ids) if wait else {}
        screen = open_progress(as_json, deferred, project.layout, live=stepper is None)
        screen = screen if ready_descriptor is None else notify_when_ready(screen, ready_descriptor)
        with register_run(project.layout):
            outcomes = await show_progress(ostler, work, screen, stepper)
    except OstlerError as error:
        if not signals.is_reason(error):
            raise
        print_hint(f"Stopped; {error.message}. The next run uses the kept answers: ostler run --all")
        return signals.exit_code
    finally:
        await ostler.close()
    if ostler.stop_reason:
        print_hint(ostler.stop_reason)
    if print_summary or as_json:
        from ostler.cli.terminal.run.run_summary import print_run_summary  # noqa: PLC0415

        print_run_summary(project, outcomes, as_json, ostler.not_started)
    if signals.exit_code and _is_interrupted(outcomes):
        return signals.exit_code
    return combine_with_holds(combine_exit_codes(outcomes), has_held(ostler.not_started))


def _is_interrupted(outcomes: list[Outcome]) -> bool:
    return not outcomes or any(outcome.exit == 130 for outcome in outcomes)

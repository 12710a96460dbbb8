"""ostler run"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from ostler.cli.detach import BEGUN_OPTION, heralded, refuse_company, run_detached
from ostler.cli.given import read_given
from ostler.cli.jobs import JOBS
from ostler.cli.out import hint, json_option, open_project, say
from ostler.cli.progress import Progress, showing
from ostler.cli.signals import Running, Signals
from ostler.cli.streams import outlive_readers
from ostler.errors import UsageError
from ostler.model.ids import TaskId, task_id
from ostler.model.outcome import Outcome, exit_of_all
from ostler.model.status import TERMINAL, TaskStatus
from ostler.model.task import WEIGHTS, Task, Weight
from ostler.process.detached import keep_word
from ostler.process.strays import become_subreaper
from ostler.project.at_work import at_work
from ostler.project.ostler import Ostler
from ostler.project.preflight import check_ready, due_tasks, ready_tasks, require_turn
from ostler.project.project import Project
from ostler.views.feed import feed_json

if TYPE_CHECKING:
    from ostler.cli.step import Stepper

# What only some runs need is imported where they need it: it stands between a person and the first agent.
_TITLE_COLUMNS = 72


@click.command("run")
@click.argument("tasks", nargs=-1, metavar="[ID]...")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every task that is ready: new, due again, or left by a run that died.",
)
@click.option("-p", "--prompt", metavar="TEXT", help="Write a task down and run it at once.")
@click.option("-f", "--file", metavar="FILE.md", help="The same, from a file; - is stdin.")
@click.option(
    "--changed",
    metavar="[BRANCH]",
    is_flag=False,
    flag_value="",
    help="With -p or -f: about the files changed since a branch; nothing is run when none is.",
)
@click.option(
    "--weight",
    metavar="SIZE",
    type=click.Choice(WEIGHTS),
    help=f"How large that task is: {', '.join(WEIGHTS)}.  [default: trivial with -p, small with -f]",
)
@click.option(
    "-j", "--jobs", metavar="N", type=JOBS, help="How many tasks run side by side; auto: as fits here."
)
@click.option("--executor", metavar="NAME", help="The agent, for tasks that name none.")
@click.option("--model", metavar="NAME", help="The model, for tasks that name none.")
@click.option(
    "--profile",
    metavar="NAME",
    type=click.Choice(("auto", "fast", "safe", "strict")),
    help="How strictly a task of -p or -f is checked: auto, fast, safe, strict.",
)
@click.option(
    "--wait/--no-wait",
    default=None,
    help="Wait until limits end, or leave their tasks deferred.  [default: wait in a terminal]",
)
@click.option("--fail-fast", is_flag=True, help="Begin no other task once one has failed.")
@click.option(
    "--step", is_flag=True, help="Ask before each start of an agent: go on, edit its prompt, or stop."
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be started, with its prompt, and start nothing."
)
@click.option("--detach", is_flag=True, help="Run in the background; returns as soon as it has begun.")
@click.option(BEGUN_OPTION, "begun", type=int, hidden=True)
@json_option
def command(
    tasks: tuple[str, ...],
    everything: bool,
    prompt: str | None,
    file: str | None,
    changed: str | None,
    weight: Weight | None,
    jobs: int | None,
    executor: str | None,
    model: str | None,
    profile: str | None,
    wait: bool | None,
    fail_fast: bool,
    step: bool,
    dry_run: bool,
    detach: bool,
    begun: int | None,
    as_json: bool,
) -> int:
    """Let agents work on tasks until each one is done or needs you.

    Ctrl-C stops in good order and keeps everything; a second one stops at once.
    """
    if sum((bool(tasks), everything, prompt is not None, file is not None)) != 1:
        raise UsageError("say what to run", "ostler run ID,  ostler run --all  or  ostler run -p TEXT")
    if changed is not None and prompt is None and file is None:
        raise UsageError("--changed is about a new task", 'ostler run --changed -p "Review this change"')
    if begun is not None:
        keep_word(begun)
    if detach:
        refuse_company(step, dry_run)
    stepper = _stepper(as_json) if step and not dry_run else None
    flags = {
        "run.jobs": 1 if stepper else jobs,
        "run.executor": executor,
        "run.model": model,
        "phases.profile": profile,
    }
    fresh = prompt is not None or file is not None
    with open_project({key: value for key, value in flags.items() if value}, create=fresh) as project:
        if fresh:
            task = _task(prompt, file, weight)
            if changed is not None:
                since, task = _about_changes(project, task, changed)
                if task is None:
                    return _nothing_changed(since, as_json)
            check_ready(project, [task])
            if dry_run:
                return _rehearse(project, [replace(task, id=task_id(task.title, "xxxx"))], as_json)
            wanted = [project.add(task).id]
        else:
            wanted = _named(project, tasks) if tasks else _ready(project)
            if dry_run:
                return _rehearse(project, due_tasks(project, wanted), as_json)
        patient = sys.stdout.isatty() and not as_json if wait is None else wait
        if detach:
            options = {"--jobs": jobs, "--executor": executor, "--model": model, "--profile": profile}
            switches = {"--wait": patient, "--no-wait": not patient, "--fail-fast": fail_fast}
            return run_detached(project.layout, wanted, options, switches, as_json)
        run = run_tasks(project, wanted, as_json, True, stepper, patient, fail_fast, begun)
        return asyncio.run(run)


def _task(prompt: str | None, file: str | None, weight: Weight | None) -> Task:
    """The task that -p or -f describes."""
    if prompt is None:
        task = read_given(None, None, file)
        return replace(task, weight=weight or task.weight)
    title = " ".join(prompt.split())
    short = title if len(title) <= _TITLE_COLUMNS else title[: _TITLE_COLUMNS - 1].rstrip() + "…"
    return Task(short, prompt, weight=weight or "trivial")


def _about_changes(project: Project, task: Task, base: str) -> tuple[str, Task | None]:
    """The task with the files that changed since a branch, by its name; no task where none has."""
    from ostler.project.changed import changed_since, with_files  # noqa: PLC0415

    since, files = changed_since(project, base)
    return since, with_files(task, since, files) if files else None


def _rehearse(project: Project, tasks: list[Task], as_json: bool) -> int:
    from ostler.cli.dry_run import print_plans  # noqa: PLC0415

    return print_plans(project, tasks, as_json)


def _stepper(as_json: bool) -> Stepper:
    from ostler.cli.step import make_stepper  # noqa: PLC0415

    return make_stepper(as_json)


def _nothing_changed(since: str, as_json: bool) -> int:
    if not as_json:
        say(f"No file has changed since {since}: nothing to run.")
    return 0


def _ready(project: Project) -> list[TaskId]:
    """All tasks for none; only some of them when the agents of others cannot be used."""
    ready, waiting = ready_tasks(project)
    for sentence in waiting:
        hint(sentence)
    return ready if waiting else []


def _named(project: Project, tasks: tuple[str, ...]) -> list[TaskId]:
    """The named tasks; a failed or cancelled one must be opened again first."""
    found = [project.resolve(task) for task in tasks]
    for task in found:
        status = project.show(task).status
        if status in TERMINAL and status not in (TaskStatus.COMPLETED, TaskStatus.APPROVED):
            raise UsageError(f"{task} is {status}", f"ostler retry {task}   opens it again")
        require_turn(project, task, found)
    check_ready(project, due_tasks(project, found))
    return found


async def run_tasks(
    project: Project,
    wanted: list[TaskId],
    as_json: bool,
    conclude: bool = False,
    stepper: Stepper | None = None,
    patient: bool = False,
    fail_fast: bool = False,
    begun: int | None = None,
    jobs: int | None = None,
) -> int:
    """Run these tasks, or all for none, with progress; the exit code that stands for how they ended."""
    become_subreaper()
    outlive_readers()
    ostler = Ostler(project, os.environ, stepper, tell=hint)
    signals = Signals(ostler, stepper)
    try:
        work = asyncio.create_task(ostler.run_all(wanted or None, jobs, wait=patient, fail_fast=fail_fast))
        held = _waiting(project, wanted) if patient else {}
        screen = showing(as_json, held, project.layout, drawn=stepper is None)
        screen = screen if begun is None else heralded(screen, begun)
        with at_work(project.layout):
            outcomes = await with_progress(ostler, work, screen, stepper)
    finally:
        await ostler.close()
    if conclude or as_json:
        from ostler.cli.conclusion import conclude_run  # noqa: PLC0415

        conclude_run(project, outcomes, as_json)
    return signals.exit if signals.exit and _interrupted(outcomes) else exit_of_all(outcomes)


def _interrupted(outcomes: list[Outcome]) -> bool:
    return not outcomes or any(outcome.exit == 130 for outcome in outcomes)


async def with_progress(
    ostler: Running,
    work: asyncio.Task[list[Outcome]],
    screen: AbstractContextManager[Progress],
    stepper: Stepper | None,
) -> list[Outcome]:
    """Show what happens until the work has ended, and stop it when that cannot go on."""
    after = ostler.project.journal.position()
    try:
        with screen as progress:
            while not work.done():
                await asyncio.wait({work}, timeout=0.1)
                if stepper is None or not stepper.asking:
                    after = _show_feed(ostler.project, after, progress)
                    progress.beat(time.time())
            if work.exception() is None:
                await ostler.flush()
            _show_feed(ostler.project, after, progress)
    finally:
        ostler.stop()
        await asyncio.gather(work, return_exceptions=True)
    return work.result()


def _waiting(project: Project, wanted: list[TaskId]) -> dict[str, float]:
    """The tasks of this run that an earlier one left deferred, and when each is due."""
    due = {row.id: row.resumes_at for row in project.journal.open_rows() if not wanted or row.id in wanted}
    return {task: at for task, at in due.items() if at is not None and at > time.time()}


def _show_feed(project: Project, after: int, progress: Progress) -> int:
    while lines := project.feed(after, None):
        for line in lines:
            progress.take(feed_json(line), line.at)
        after = lines[-1].position
    return after

"""Adds one task to a project."""

from __future__ import annotations

import os

import msgspec
from msgspec.structs import replace

from ostler.config.checks.expect import explain_invalid
from ostler.config.load import load_settings
from ostler.engine.core.rules import RULES
from ostler.engine.records import create_task
from ostler.engine.steps.gates.choice import read_protection
from ostler.engine.task_files import write_task_file
from ostler.errors import UsageError
from ostler.files.atomic import make_private_dir
from ostler.model.event import TaskCreated
from ostler.model.ids import TaskId, make_id_tail, make_task_id, require_task_id
from ostler.model.task import Task, to_priority
from ostler.project.inspection.refuse import refuse
from ostler.project.inspection.task import find_task_errors
from ostler.project.inspection.unknown_task import find_removed_error, find_unknown_tasks
from ostler.project.project import Project
from ostler.project.proposals import check_proposal
from ostler.project.tasks.files.documents import resolve_output
from ostler.project.tasks.planning import plan_task
from ostler.project.tasks.title import normalize_title
from ostler.secrets.redact import redact_struct


def add_task(project: Project, task: Task) -> Task:
    """Add a task and return it with its id; it is durable when this returns."""
    task = redact_struct(_validate(task))  # before the id is made from the title
    if task.id:
        require_task_id(task.id)
    title = normalize_title(task.title)
    # Raises with everything that the task names and that does not exist.
    refuse([*find_task_errors(task, project.setup()), *find_unknown_tasks(project, task.after)])
    task, held = _prepare(project, task)
    plan = plan_task(task, project.loaded, project.layout.root)
    task = replace(task, after=project.find_dependencies(task.after))
    while True:
        named = replace(task, id=task.id or make_task_id(title, make_id_tail(os.urandom(4))), title=title)
        if named.is_document:
            named = resolve_output(named, project.layout.root, project.settings)
        protection = read_protection(named, plan, project.settings)
        created = TaskCreated(named, plan, RULES, os.urandom(16).hex(), protection, held)
        # Before the record: a run may claim the task at once.
        make_private_dir(project.layout.task(named.id))
        if create_task(project.journal, created, project.now()) is not None:
            break
        if task.id:
            if (removed := find_removed_error(project, task.id)) is not None:
                raise removed
            return project.task(task.id)  # a task with the same id is the same task
    write_task_file(named, project.layout)
    return named


def _validate(task: Task) -> Task:
    """Return the task with the types of its fields; raises UsageError for the first that is invalid."""
    try:
        return msgspec.convert(msgspec.to_builtins(replace(task, priority=to_priority(task.priority))), Task)
    except msgspec.ValidationError as error:
        name, reason = explain_invalid(error)
        raise UsageError(f"invalid {name or 'task'}: {reason}") from None


def _prepare(project: Project, task: Task) -> tuple[Task, bool]:
    """Return the task, and whether it is held: inside a task it is a proposal of that task."""
    if project.current_attempt is None:
        return replace(task, proposed_by=TaskId("")), False
    # Without the variables of the agent, which could set any value.
    environ = {name: value for name, value in project.environ.items() if not name.startswith("OSTLER_")}
    settings = load_settings(project.layout.root, environ, {}).settings
    proposal = check_proposal(task, project.current_attempt, settings, project.journal)
    accepted = project.state(proposal.proposed_by).baseline.accept_proposals
    return proposal, not (settings.run.accept_proposals and accepted)

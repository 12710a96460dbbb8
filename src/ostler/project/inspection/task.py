"""What one task names and lacks: its executor, role, skills and follow-ups."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from ostler.config.checks.expect import nearest
from ostler.config.settings import Settings
from ostler.errors import Code, OstlerError, PathEscape, UsageError
from ostler.files.paths import split_beneath
from ostler.model.policy.model_config import BUILT_IN_TIERS
from ostler.model.task import Task, explain_invalid_label
from ostler.project.inspection.executors import explain_unknown_executor
from ostler.project.inspection.setup import Setup
from ostler.prompt.role import AGENTS, describe_unknown_role, list_project_roles
from ostler.skills.location import locate_skill


def find_task_errors(task: Task, setup: Setup) -> Iterator[OstlerError]:
    """Yield an error for each thing that the task names and that does not exist."""
    if task.executor and (why := explain_unknown_executor(task.executor, setup)):
        yield UsageError(why)
    if task.role not in AGENTS and task.role not in list_project_roles(setup.root):
        yield UsageError(describe_unknown_role(task.role, setup.root))
    if task.tier and (reason := explain_unknown_tier(task.tier, setup.settings)):
        yield UsageError(reason)
    if task.timeout_seconds is not None and not 0 < task.timeout_seconds < inf:
        yield UsageError(f"invalid timeout_seconds: expected a number > 0, got {task.timeout_seconds:g}")
    if task.max_retries is not None and task.max_retries < 0:
        yield UsageError(f"invalid max_retries: expected a number >= 0, got {task.max_retries}")
    if task.label and (reason := explain_invalid_label(task.label)):
        yield UsageError(reason)
    for one in task.inputs:
        yield from find_input_errors(one.path)
    if only := _find_document_fields(task):
        message = f"only a task with a document has {', '.join(only)}"
        yield UsageError(message, "add a skill or an output (--skill NAME or --output PATH)")
    yield from _find_skill_errors(task, setup)


def _find_document_fields(task: Task) -> list[str]:
    """Return the fields that a task has and that no phase of a code change would use."""
    fields = {"inputs": task.inputs, "review": task.review, "next": task.next}
    return [] if task.is_document else [name for name, value in fields.items() if value]


def find_input_errors(path: str) -> Iterator[OstlerError]:
    """Yield an error for an input that no project can have; a missing file may be written later."""
    try:
        split_beneath(path)
    except PathEscape:
        message = f"the input {path!r:.200} is not a path below the project"
        yield OstlerError(Code.INPUT_NOT_FOUND, message, "use a path inside the project")


def explain_unknown_tier(tier: str, settings: Settings) -> str:
    """Return why a name is neither built in, nor in [tiers], nor a name of [[models]]; empty if it is one."""
    known = (*BUILT_IN_TIERS, *settings.tiers, *(one.name for one in settings.models))
    if tier in known:
        return ""
    near = nearest(tier, known)
    names = ", ".join(dict.fromkeys(known))
    hint = f"did you mean {near}?" if near else f'add it to ostler.toml: [tiers] {tier} = "MODEL"'
    return f"unknown tier {tier!r:.80}: expected one of {names}; {hint}"


def _find_skill_errors(task: Task, setup: Setup) -> Iterator[OstlerError]:
    reviewer = "" if task.review in ("human", "ai") else task.review
    for name in dict.fromkeys(filter(None, (task.skill, reviewer, *task.next))):
        try:
            locate_skill(name, setup.root, setup.settings.skills)
        except OstlerError as error:
            what = f"the next skill of the task: {error.message}" if name in task.next else error.message
            yield OstlerError(Code.SKILL_NOT_FOUND, what, error.hint)

"""Shows what a run would do with a task, without starting anything (`run --dry-run`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.attempts.base_call import create_base_call, identity_variables
from ostler.calls.models.slots import WorkerPool
from ostler.calls.plugins import load_plugins
from ostler.clock import SystemClock
from ostler.engine.steps.agent_call.document import load_document_skill, read_context_files
from ostler.engine.steps.agent_call.inputs import read_inputs
from ostler.executors.permissions import resolve_permissions
from ostler.executors.registry import ExecutorRegistry, find_section
from ostler.model.command import Command, Exit, Sink
from ostler.model.plan import Phase
from ostler.model.policy.sandbox import SandboxRecord
from ostler.model.task import Task
from ostler.process.protocol import Conversation
from ostler.project.agents.executors import check_permissions
from ostler.project.agents.first_model import find_first_model
from ostler.project.agents.model_pool import find_models
from ostler.project.inspection.confinement import find_confinement
from ostler.project.project import Project
from ostler.project.tasks.planning import plan_task
from ostler.prompt.answer import ANSWER_SCHEMA_JSON, STRUCTURED_PHASES
from ostler.prompt.builder import CallHistory, WorkingDirectory, build_prompt
from ostler.prompt.document import build_prompt as build_document_prompts
from ostler.prompt.role import find_agent, load_prompt
from ostler.prompt.template import find_template


class DryRun(Struct, frozen=True):
    """The first attempt at a task, as a run would start it."""

    id: str
    executor: str
    model: str
    models: tuple[str, ...]  # every model that may be used
    skipped: dict[str, str]  # models that are tried before this one and cannot be used now, with the reason
    max_calls: int  # per agent call: models x (1 + retry.max_retries)
    pool: str  # the pool of its slot
    directory: str
    branch: str | None
    argv: tuple[str, ...]  # empty: this executor starts no program
    environment: tuple[str, ...]  # names only
    prompt: str
    sandbox: SandboxRecord = SandboxRecord()
    sandbox_error: str = ""  # why no agent starts: the tier of the settings does not work
    permissions: str = ""  # that the agent gets


class _Recorder:
    """A runner that starts nothing."""

    def __init__(self) -> None:
        self.command: Command | None = None

    async def run(self, command: Command, sink: Sink) -> Exit:
        del sink
        self.command = command
        return Exit(0, 0.0)

    async def converse(self, command: Command, conversation: Conversation) -> Exit:
        return await self.run(command, conversation.receive_line)


def plan_dry_run(project: Project, task: Task, environ: Mapping[str, str]) -> DryRun:
    """Get the command line of the executor with a runner that only records it."""
    place, settings, phase = _choose_workdir(project, task), project.settings, _find_phase(project, task)
    task = replace(task, role=phase.role or task.role)
    pool = find_models(project, task)
    first = find_first_model(project, task, pool, environ)
    choice, retries = first.model, task.max_retries
    confined = find_confinement(settings.sandbox, environ)
    check_permissions(settings, choice)
    recorder = _Recorder()
    executor = ExecutorRegistry().make_for(choice, settings.executors, recorder)
    executor.validate_availability()
    # Only the names of variables are shown, so the number of the attempt and its file need no value.
    marks = identity_variables("-", str(project.layout.root), task.id, "-")
    structured = executor.capabilities.structured_output and not task.is_document
    structured = structured and phase.id in STRUCTURED_PHASES
    prompt = _build_prompt(project, task, phase, place, structured=structured)
    call = replace(
        create_base_call(settings, executor.capabilities, environ, marks),
        agent=task.role,
        prompt=load_plugins(settings.plugins, root=project.layout.root).with_capabilities(prompt),
        schema=ANSWER_SCHEMA_JSON if structured else "",
        session_id="00000000-0000-0000-0000-000000000000",
        model=choice.model,
        cwd=place.directory,
        in_verified_sandbox=confined.record.verified,
    )
    if executor.capabilities.starts_program:
        asyncio.run(executor.spawn(call, lambda _: None))
    command = recorder.command
    return DryRun(
        id=task.id,
        executor=choice.executor,
        model=call.model,
        models=tuple(one.name for one in pool.models),
        skipped=first.skipped,
        max_calls=len(pool.enabled) * (1 + (settings.retry.max_retries if retries is None else retries)),
        pool=WorkerPool(settings.pools, SystemClock()).pool_name(task.feature, task.priority),
        directory=place.directory,
        branch=place.branch,
        argv=command.argv if command else (),
        environment=tuple(sorted(command.env if command else call.env)),
        prompt=call.prompt,
        sandbox=confined.record,
        sandbox_error=confined.error,
        permissions=resolve_permissions(find_section(executor.name, settings.executors).permissions, call),
    )


def _find_phase(project: Project, task: Task) -> Phase:
    """Return the phase of the next attempt: the current one of a task, the first one of a new task."""
    if task.id and project.journal.find(task.id):
        return project.state(task.id).current
    return plan_task(task, project.loaded, project.layout.root).phases[0]


def _build_prompt(
    project: Project, task: Task, phase: Phase, place: WorkingDirectory, *, structured: bool
) -> str:
    """Return the first prompt of the phase."""
    if task.is_document:
        return _build_document(project, task)
    root = project.layout.root
    template = find_template(phase.id, phase.prompt, project.settings.phases.prompts, root)
    role = load_prompt(find_agent(task.role, root), root)
    text = build_prompt(task, place, CallHistory(), phase.id, template, structured=structured)
    return f"{role}\n\n{text}"


def _build_document(project: Project, task: Task) -> str:
    """Return the prompts of a document, with the inputs that exist."""
    root, settings = project.layout.root, project.settings
    skill, _ = load_document_skill(task, root, settings)
    there = replace(task, inputs=tuple(one for one in task.inputs if (root / one.path).is_file()))
    inputs = [one.upstream for one in read_inputs(there, root)]
    context, limit = read_context_files(root, settings), settings.documents.max_context_tokens
    prompts = build_document_prompts(skill, task, context, inputs, limit)
    return f"{prompts.system_prompt}\n\n{prompts.user_message}"


def _choose_workdir(project: Project, task: Task) -> WorkingDirectory:
    if project.worktree_repository() is None:
        return WorkingDirectory(str(project.layout.root))
    branch = f"{project.settings.git.branch_prefix}{task.id}"
    return WorkingDirectory(str(project.layout.worktree(task.id)), branch)

"""Checks before a run claims a task, so that a refusal changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.sandbox.agent import require_model_network
from ostler.clock import SystemClock, format_rfc3339
from ostler.config.checks.expect import nearest
from ostler.config.phase_names import explain_new_phase
from ostler.config.settings import Settings
from ostler.engine.dependencies import list_unmet
from ostler.engine.steps.move_obstacles import advise, find_move_obstacles
from ostler.engine.task_queue import is_runnable
from ostler.errors import OstlerError, Problem, UsageError
from ostler.executors.protocol import Executor
from ostler.files.disk import require_writable
from ostler.git.repository import Repository
from ostler.model.ids import TaskId
from ostler.model.policy.model_config import ModelConfig
from ostler.model.status import EXECUTABLE, TERMINAL
from ostler.model.task import REVIEWER, Task
from ostler.project.agents.executors import check_permissions
from ostler.project.agents.model_choice import select_models
from ostler.project.inspection.confinement import find_unavailable_tier
from ostler.project.inspection.executors import explain_unknown_executor, make_executor
from ostler.project.inspection.inspect_project import find_run_problems, find_settings_problems
from ostler.project.inspection.publishing import require_branches
from ostler.project.inspection.refuse import refuse
from ostler.project.inspection.setup import Setup
from ostler.project.inspection.task import find_task_errors
from ostler.project.inspection.unknown_task import find_unknown_tasks
from ostler.project.project import Project
from ostler.project.tasks.planning import plan_task
from ostler.sandbox.box.tiers import choose_tier
from ostler.skills.outputs import is_always_file

_NAMED = 3  # tasks in a message; the others are counted


def check_ready(project: Project, tasks: Iterable[Task]) -> list[Problem]:
    """Raise PreflightFailed with everything that these tasks lack; return the warnings."""
    tasks = list(tasks)
    errors, problems = _check_project(project, tasks)
    checks = TaskChecks(project)
    refuse([*errors, *(error for task in tasks for error in checks.find_errors(task))], problems)
    return list_warnings(problems)


def check_start(project: Project) -> list[Problem]:
    """Raise PreflightFailed when the settings or the project's files are wrong; return the warnings."""
    setup = project.setup()
    problems = [*find_settings_problems(setup), *find_run_problems(setup, None)]
    refuse([], problems)
    return list_warnings(problems)


def is_cluster(settings: Settings) -> bool:
    """Return whether workers, maybe of other machines, run the tasks: what this one lacks does not matter."""
    return settings.engine.kind != "local"


def check_new(project: Project, task: Task) -> list[Problem]:
    """Raise PreflightFailed for wrong settings and unknown names; return what the task can still get.

    In a cluster also for what no worker allows: the task starts there at once, and would fail.
    """
    setup = project.setup()
    in_cluster = is_cluster(setup.settings)
    lacking = TaskChecks(project).find_errors(task)
    errors = lacking if in_cluster else find_task_errors(task, setup)
    refuse([*errors, *find_unknown_tasks(project, task.after)], find_settings_problems(setup))
    found = [] if in_cluster else _find_run_problems(project, setup)
    missing = [_with_hint(error) for error in lacking]
    missing += _explain_obstacles(project, task)
    missing += filter(None, (explain_new_phase(name, setup.settings, setup.root) for name in task.phases))
    missing += filter(
        None, (explain_unknown_pool(task, setup.settings), explain_unused_label(task, setup.settings))
    )
    problems = [*(Problem("", 0, "", message) for message in missing), *found]
    return [replace(one, severity="warning") for one in problems if one.severity == "error"]


def _explain_obstacles(project: Project, task: Task) -> Iterator[str]:
    """Yield why the task cannot go on at another machine of the cluster."""
    settings = project.settings
    if not settings.engine.moves_tasks:
        return
    repository = project.worktree_repository()
    found = find_move_obstacles(settings, project.layout.root, repository, is_document=task.is_document)
    yield from (f"{one}; {advise(settings, repository)}" for one in found)


def _find_run_problems(project: Project, setup: Setup) -> list[Problem]:
    publishes = setup.settings.git.on_complete == "pr"
    return find_run_problems(setup, project.worktree_repository() if publishes else None)


def explain_unknown_pool(task: Task, settings: Settings) -> str:
    """Return which pool is used instead of the one that the task's feature names; empty if that exists."""
    from ostler.calls.models.slots import BUILT_IN_POOLS, name_pool  # noqa: PLC0415  (few tasks name a pool)

    pools = (*BUILT_IN_POOLS, *settings.pools)
    if not task.feature or task.feature in pools:
        return ""
    used = name_pool(task.feature, task.priority, pools)
    near = nearest(task.feature, pools)
    fix = f"did you mean {near}?" if near else f"add [pools.{task.feature}] to use one of its own"
    return f"no pool has the name {task.feature:.80}, so the task uses the pool {used}; {fix}"


def explain_unused_label(task: Task, settings: Settings) -> str:
    """Return that any run takes the task in spite of its label; empty if only some workers do."""
    if not task.label or is_cluster(settings):
        return ""
    return f'the label {task.label} has no effect while engine.kind is "local": this machine runs the task'


def list_warnings(problems: Iterable[Problem]) -> list[Problem]:
    """Return the warnings among the problems, each once."""
    return list(dict.fromkeys(one for one in problems if one.severity == "warning"))


def require_startable(project: Project, task: TaskId, others: list[TaskId]) -> None:
    """Raise when a run of these tasks could not start the task, because of a dependency or a start time."""
    row = project.journal.row(task)
    if row is None or row.status not in EXECUTABLE:
        return
    statuses = project.journal.statuses(row.after)
    first = [
        one for one in list_unmet(row, statuses) if one not in others and statuses.get(one) not in TERMINAL
    ]
    if first and first[0] in statuses:
        raise UsageError(
            f"{task} depends on {first[0]}, which is {statuses[first[0]]}",
            f"run them in order: ostler run {' '.join(first)} {task}",
        )
    if row.not_before is not None and row.not_before > SystemClock.now():
        raise UsageError(
            f"{task} starts no earlier than {format_rfc3339(row.not_before)}",
            f"ostler set {task} not_before=   and run it again",
        )


# In its common directory; without them an agent would be paid for work that cannot be committed.
_WRITTEN_BY_GIT = ("", "objects", "refs", "refs/heads", "worktrees")


class ReadyTasks(Struct, frozen=True):
    """The due tasks that can start, and why others cannot."""

    ready: list[TaskId]
    refused: list[str]  # one message for each reason
    warnings: list[Problem]


def find_ready_tasks(project: Project) -> ReadyTasks:
    """Return the tasks that `run --all` can start.

    Raises when no task can start, so that a machine without its agent fails no task.
    """
    tasks = list_due_tasks(project, [])
    errors, problems = _check_project(project, tasks)
    refuse(errors, problems)
    checks = TaskChecks(project)
    refused = {task.id: found for task in tasks if (found := checks.find_errors(task))}
    if refused and len(refused) == len(tasks):
        refuse([error for found in refused.values() for error in found])
    ready = [task.id for task in tasks if task.id not in refused]
    return ReadyTasks(ready, _describe_refused(refused), list_warnings(problems))


def _describe_refused(refused: dict[TaskId, list[OstlerError]]) -> list[str]:
    """Return one message for each reason, with the tasks that it concerns."""
    tasks: dict[str, list[TaskId]] = {}
    for task, errors in refused.items():
        for error in errors:
            tasks.setdefault(_with_hint(error), []).append(task)
    return [f"not run: {_name_tasks(found)}: {message}" for message, found in tasks.items()]


def _name_tasks(tasks: list[TaskId]) -> str:
    more = len(tasks) - _NAMED
    return ", ".join(tasks[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _with_hint(error: OstlerError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message


def check_executors(project: Project, executors: Iterable[str]) -> dict[str, OstlerError]:
    """Return the error of each executor that is not usable."""
    setup = project.setup()
    checked = {name: _check_model(setup, ModelConfig(name, name)) for name in sorted(set(executors))}
    return {name: error for name, error in checked.items() if error}


def _check_model(setup: Setup, model: ModelConfig) -> OstlerError | None:
    """Return why no call can use this model: its permissions, its program or the network."""
    try:
        check_permissions(setup.settings, model)
        executor = make_executor(model.executor, setup)
        executor.validate_availability()
        _require_network(executor, setup)
    except OstlerError as error:
        return error
    return None


def _require_network(executor: Executor, setup: Setup) -> None:
    sandbox = setup.settings.sandbox
    if sandbox.network == "off":  # otherwise there is nothing to test
        chosen = choose_tier(sandbox.tier, setup.environ, sandbox.network, sandbox.image)
        require_model_network(executor, sandbox, chosen)


class TaskChecks:
    """Finds what single tasks lack; each executor and each kind of plan is examined once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._setup = project.setup()
        self._usable: dict[tuple[object, ...], OstlerError | None] = {}
        self._roles: dict[tuple[object, ...], list[str]] = {}

    def find_errors(self, task: Task) -> list[OstlerError]:
        """Return what the task names and does not exist, else why the agents of one of its roles fail."""
        errors = list(find_task_errors(task, self._setup))
        if errors:
            return errors
        in_cluster = is_cluster(self._setup.settings)
        found = self._find_missing_consents(task) if in_cluster else self._find_agent_errors(task)
        return list({one.message: one for one in found}.values())

    def _find_missing_consents(self, task: Task) -> Iterator[OstlerError]:
        """Yield why no worker may start the agents of a role, whatever its machine has."""
        for own in self._list_owns(task):
            refused = [self._check_consent(model) for model in list_models(self._project, own)]
            if all(refused):
                yield from filter(None, refused)

    def _check_consent(self, model: ModelConfig) -> OstlerError | None:
        try:
            check_permissions(self._setup.settings, model, on_workers=True)
        except OstlerError as error:
            return error
        return None

    def _list_owns(self, task: Task) -> list[Task]:
        """Return the task as each of its roles runs it."""
        return [task, *(_with_role(task, role, self._project) for role in self._list_roles(task))]

    def _find_agent_errors(self, task: Task) -> Iterator[OstlerError]:
        for own in self._list_owns(task):
            models = list_models(self._project, own)
            names = list(dict.fromkeys(model.executor for model in models))
            if any(explain_unknown_executor(name, self._setup) for name in names):
                continue  # it is reported with the setting that names it
            if not names:
                yield _create_disabled_error(self._project, task)
            elif all(refused := [self._check(model) for model in models]):
                yield from filter(None, refused)
            elif own is task and (error := self._find_output_error(task, names)):
                yield error

    def _find_output_error(self, task: Task, names: list[str]) -> OstlerError | None:
        """Return why no agent can write the document: it is a file, and they only answer with text."""
        path = task.output.path if task.output else ""
        suffix = "" if path else _find_default_suffix(task, self._setup)
        if not is_always_file(path or f"document{suffix}"):
            return None
        if any(make_executor(name, self._setup).capabilities.changes_files for name in names):
            return None
        message = f"{names[0]} answers with text and cannot write {path or f'a {suffix} file'}"
        hint = "use an agent that runs programs, such as --executor claude, or an output that ends in .md"
        return UsageError(message, hint)

    def _check(self, model: ModelConfig) -> OstlerError | None:
        key = (model.executor, model.args, tuple(sorted(model.env.items())))
        if key not in self._usable:
            self._usable[key] = _check_model(self._setup, model)
        return self._usable[key]

    def _list_roles(self, task: Task) -> list[str]:
        """Return the other roles of the task's phases, and that of its reviewers."""
        key = (task.weight, task.phases, task.role, task.skill, task.review, bool(task.output))
        if key not in self._roles:
            try:
                plan = plan_task(task, self._project.loaded, self._project.layout.root)
            except OstlerError:
                return []  # a saved task has its plan; a new one is refused when it is added
            gates = (*(phase.gate for phase in plan.phases), plan.merge_gate)
            reviewers = [REVIEWER] if any(gate.type == "ai" for gate in gates) else []
            self._roles[key] = [*{phase.role for phase in plan.phases if phase.role}, *reviewers]
        return self._roles[key]


def _find_default_suffix(task: Task, setup: Setup) -> str:
    """Return the suffix of a document whose path is not determined yet: a new task has no id."""
    if not task.skill:
        return ""
    from ostler.skills.content import load_skill_content  # noqa: PLC0415  (imported on use)

    try:
        return load_skill_content(task.skill, setup.root, setup.settings.skills).suffix
    except OstlerError:
        return ""  # a broken skill is reported when the task is added


def _with_role(task: Task, role: str, project: Project) -> Task:
    """Return the task as its calls in this role select their models."""
    own = replace(task, role=role)
    is_assigned = role == REVIEWER and role in project.settings.agents
    return replace(own, executor="", model="") if is_assigned else own


def _check_project(project: Project, tasks: Sequence[Task]) -> tuple[list[OstlerError], list[Problem]]:
    """Return why these tasks cannot run here, and the problems of the project."""
    setup, errors = project.setup(), list[OstlerError]()
    if is_cluster(setup.settings):
        return [], find_settings_problems(setup)
    repository: Repository | None = None
    try:
        # Documents need no worktree and therefore no commit.
        documents = tasks and all(task.is_document for task in tasks)
        repository = None if documents else project.worktree_repository()
        _require_places(project, repository)
    except OstlerError as error:
        errors.append(error)
    if unavailable := find_unavailable_tier(setup.settings.sandbox, setup.environ):
        errors.append(unavailable)
    return errors, [*find_settings_problems(setup), *find_run_problems(setup, repository)]


def _require_places(project: Project, repository: Repository | None) -> None:
    layout = project.layout
    for place in (layout.state, layout.state / "locks", layout.state / "tasks"):
        require_writable(place)
    if repository is not None:
        require_writable(layout.worktrees)
        for name in _WRITTEN_BY_GIT:
            require_writable(repository.common_dir / name)
        require_branches(project.setup(), repository)


def list_due_tasks(project: Project, tasks: list[TaskId]) -> list[Task]:
    """Return these tasks, or all if none are given, that can start now."""
    now = SystemClock.now()
    rows = [row for row in project.journal.open_rows() if not tasks or row.id in tasks]
    return [project.task(row.id) for row in rows if row.status not in TERMINAL and is_runnable(row, now)]


def list_models(project: Project, task: Task) -> list[ModelConfig]:
    """Return the enabled models that may run a task, the preferred one first."""
    return [choice for choice in select_models(task, project.loaded).models if choice.enabled]


def _create_disabled_error(project: Project, task: Task) -> UsageError:
    names = ", ".join(choice.name for choice in select_models(task, project.loaded).models)
    return UsageError(
        f"all models for {task.id or task.title} are disabled: {names}",
        "set enabled = true for one of them in ostler.toml",
    )

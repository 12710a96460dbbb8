"""The models for a task with their logins."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.executors.logins import identify_login
from ostler.executors.registry import resolve_type
from ostler.model.policy.model_config import Login, ModelConfig, ModelPool
from ostler.model.task import Task
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.model_choice import select_models
from ostler.project.project import Project


def find_models(project: Project, task: Task) -> ModelPool:
    """Return the models for a task, each with the login that its calls use."""
    setup = project.setup()
    executors, root = setup.settings.executors, str(setup.root)

    def identify(model: ModelConfig) -> Login:
        executor = setup.registry.make_for(model, executors, DefaultCommandRunner())
        return identify_login(model, executor, executors, setup.environ, root)

    pool = select_models(task, setup.loaded)
    known = (model for model in pool.models if setup.registry.has(resolve_type(model.executor, executors)))
    logins = {model.name: identify(model) for model in known}
    return ModelPool(tuple(replace(one, login=logins.get(one.name, Login())) for one in pool.models))

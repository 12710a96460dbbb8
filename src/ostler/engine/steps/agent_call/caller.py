"""Creates the caller for a task's calls."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.calls.attempts.attempt import AttemptRunner
from ostler.calls.attempts.kept_answer import AnswerPlaces, find_answer_places
from ostler.calls.call import AgentCaller
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.executors.protocol import Executor
from ostler.model.ids import TaskId
from ostler.model.policy.model_config import ModelConfig


def make_caller(context: TaskContext, services: StepServices) -> AgentCaller:
    """Return a caller whose agents hold the task's lock while any of their processes is alive."""
    root, shared, settings = str(services.layout.root), services.get_call_services(), services.settings
    attempts = AttemptRunner(
        settings, services.environ, services.writer, services.clock, services.run, root, shared.running
    )

    def make(model: ModelConfig) -> Executor:
        own = settings.executors.get(model.executor)
        limited = replace(model, permissions=own.permissions) if own else model
        return services.make_executor(limited, lock=context.lock)

    if context.task.max_retries is not None:
        settings = replace(settings, retry=replace(settings.retry, max_retries=context.task.max_retries))
    return AgentCaller(settings, make, attempts, shared, services.clock)


def find_task_answer(task: TaskId, services: StepServices) -> AnswerPlaces:
    """Return where an answer is kept until the step that asked for it is recorded."""
    return find_answer_places(services.layout.task(task), task, services.writer.store_id, services.environ)

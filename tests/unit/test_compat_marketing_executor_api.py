"""The seed's AgentExecutor and its model: errors, answers, repeats, overrides (seed 003, section 4.4)."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from executor_world import LONG, RESEARCH, ExecutorWorld, Setting, deferred_with, failed_with, fails
from ostler.errors import Code, OstlerError
from ostler.llm.client import DEFAULT_MODEL_MAP, ClaudeRequest, ClaudeResponse
from ostler.llm.failure import ModelError
from ostler.model.limits.limit import LEASE_SECONDS
from ostler.model.status import TaskStatus
from ostler.project.agents.agent_executor import AgentExecutor
from ostler.project.agents.executor_config import AgentConfig, create_default_config
from ostler.project.project import Project
from ostler.project.running.execution import ExecutionError, ExecutionErrorCode
from ostler.testing.mocks import MockClaudeClient
from ostler.testing.virtual_clock import VirtualClock

E = ExecutionErrorCode


@pytest.fixture
def world(tmp_path: Path) -> ExecutorWorld:
    return ExecutorWorld(tmp_path)


# API error edge cases


@pytest.mark.parametrize(("printed", "code"), [(Code.API_ERROR, E.API_ERROR), (Code.TIMEOUT, E.API_TIMEOUT)])
def test_api_error_is_retried_then_fails(
    world: ExecutorWorld, printed: Code, code: ExecutionErrorCode
) -> None:
    """500 and 408: three attempts, then the seed's code; result and task agree."""
    world.client.generator = fails(printed)
    result = world.execute()
    assert failed_with(result, code)
    assert len(world.client.calls) == 3
    assert isinstance(result.error and result.error.cause, OstlerError)
    assert world.state(result.task_id).status is TaskStatus.FAILED


@pytest.mark.parametrize(
    ("printed", "code"),
    [
        (Code.RATE_LIMITED, E.API_RATE_LIMITED),
        (Code.OVERLOADED, E.API_OVERLOADED),
        (Code.NETWORK, E.API_TIMEOUT),
    ],
)
def test_a_limit_or_an_outage_is_retried_then_deferred(
    world: ExecutorWorld, printed: Code, code: ExecutionErrorCode
) -> None:
    """K11: 429, 529 and no connection: the result is deferred with the time, as the task is."""
    world.client.generator = fails(printed)
    result = world.execute()
    assert deferred_with(result, code) and len(world.client.calls) == 3
    state = world.state(result.task_id)
    assert (state.status, state.resumes_at) == (TaskStatus.DEFERRED, result.resumes_at)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("printed", [Code.AUTH_FAILED, Code.MODEL_NOT_FOUND, Code.BILLING])
def test_auth_error_fails_immediately(world: ExecutorWorld, printed: Code) -> None:
    """401, 403 and 404 are API_ERROR and final; the task is failed, too."""
    world.client.generator = fails(printed)
    result = world.execute()
    assert failed_with(result, E.API_ERROR)
    assert len(world.client.calls) == 1
    assert world.state(result.task_id).status is TaskStatus.FAILED


class SdkError(Exception):
    """An exception with the status of the response, as the SDK has it."""

    def __init__(self, status_code: int) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("status", "calls"), [(400, 1), (401, 1), (404, 1), (500, 3)])
def test_a_client_that_maps_errors_as_the_seed_does(world: ExecutorWorld, status: int, calls: int) -> None:
    """Section 14.3 wraps every status in API_ERROR; the cause decides whether it is retried."""

    def answer(request: ClaudeRequest) -> ClaudeResponse:
        raise ExecutionError("no", E.API_ERROR, "", SdkError(status))

    world.client.generator = answer
    assert failed_with(world.execute(), E.API_ERROR)
    assert len(world.client.calls) == calls


def test_retry_succeeds_on_second_attempt(world: ExecutorWorld) -> None:
    """A failure that passes does not fail the task."""
    world.client.generator = fails(Code.OVERLOADED, times=1)
    result = world.execute()
    assert (result.status, len(world.client.calls)) == ("completed", 2)


def test_all_retries_exhausted_task_failed(world: ExecutorWorld) -> None:
    """In the result and in the project."""
    world.client.generator = fails(Code.API_ERROR)
    result = world.execute()
    state = world.state(result.task_id)
    assert (result.status, state.status, state.code) == ("failed", TaskStatus.FAILED, Code.API_ERROR)


def test_a_deferred_task_is_resumed_and_executed_again(world: ExecutorWorld) -> None:
    """The task is not lost: after `resume` the same executor completes it."""
    world.client.generator = fails(Code.RATE_LIMITED, times=3)
    result = world.execute()
    task = world.task(result.task_id)
    assert failed_with(world.execute(task), E.TASK_NOT_EXECUTABLE)
    with Project.open(world.root, {}) as project:
        project.act(task.id, "resume")
    assert world.execute(task).status == "completed"


# Response edge cases


@pytest.mark.parametrize("content", ["", " \n\t "])
def test_empty_or_whitespace_response(world: ExecutorWorld, content: str) -> None:
    """RESPONSE_EMPTY: task failed, nothing written, no retry, tokens counted."""
    world.client.generator = lambda request: ClaudeResponse(content, 9, 1, "end_turn")
    result = world.execute()
    assert failed_with(result, E.RESPONSE_EMPTY)
    assert (len(world.client.calls), result.tokens_used.total) == (1, 10)
    assert world.state(result.task_id).status is TaskStatus.FAILED
    assert not (world.root / "outputs").exists()


def test_response_truncated_is_a_warning(world: ExecutorWorld) -> None:
    """max_tokens: completed, the output is written, and the code is in `warning`."""
    world.client.generator = lambda request: ClaudeResponse("Half a tex", 9, 1, "max_tokens")
    result = world.execute()
    assert (result.status, result.error) == ("completed", None)
    assert result.warning is not None and result.warning.code is E.RESPONSE_TRUNCATED
    assert (world.root / str(result.output_path)).read_text() == "Half a tex"
    assert world.state(result.task_id).status is TaskStatus.COMPLETED


def test_normal_response(world: ExecutorWorld) -> None:
    """Any other stop reason is a complete answer."""
    world.client.generator = lambda request: ClaudeResponse("All of it.", 9, 1, "stop_sequence")
    result = world.execute()
    assert (result.status, result.error, result.warning) == ("completed", None, None)
    assert (world.root / str(result.output_path)).read_text() == "All of it."


# Token tracking


def test_tokens_used_matches_the_response(world: ExecutorWorld) -> None:
    """The tokens are those of the provider."""
    world.client.generator = lambda request: ClaudeResponse("Text.", 321, 45, "end_turn")
    used = world.execute().tokens_used
    assert (used.input, used.output) == (321, 45)


def test_total_is_input_plus_output(world: ExecutorWorld) -> None:
    """Nothing else is in it."""
    world.client.generator = lambda request: ClaudeResponse("Text.", 321, 45, "end_turn")
    assert world.execute().tokens_used.total == 366


def test_tokens_of_failed_attempts_are_counted(world: ExecutorWorld) -> None:
    """Two attempts broke off after ten tokens each; they are included."""
    left = iter((1, 2))

    def answer(request: ClaudeRequest) -> ClaudeResponse:
        if next(left, None) is None:
            return ClaudeResponse("Text.", 5, 2, "end_turn")
        broken = ModelError(Code.STREAM_BROKEN, "it broke off")
        broken.usage = ClaudeResponse("", 7, 3, "end_turn").usage
        raise broken

    world.client.generator = answer
    used = world.execute().tokens_used
    assert (used.input, used.output) == (7 + 7 + 5, 3 + 3 + 2)


def test_tokens_of_earlier_executions_are_not_counted_again(world: ExecutorWorld) -> None:
    """A second draft has its own tokens; the total of the task is in the project."""
    task = world.add(replace(RESEARCH, review="human"))
    world.execute(task)
    with Project.open(world.root, {}) as project:
        project.act(task.id, "reject", text="Shorter.")
    assert world.execute(task).tokens_used.total == 300
    assert world.state(task.id).usage.total == 600


# Duration tracking


def test_duration_ms_is_approximately_correct(world: ExecutorWorld) -> None:
    """At least the duration of the call, at most that of the caller."""
    world.client.set_delay(200)
    began = time.monotonic()
    result = world.execute()
    assert 200 <= result.duration_ms <= (time.monotonic() - began) * 1000 + 1


# Retry behaviour


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_retryable_errors_are_retried_up_to_max_retries(world: ExecutorWorld, retries: int) -> None:
    """The first attempt and this many retries."""
    world.client.generator = fails(Code.OVERLOADED)
    world.execute(config={"max_retries": retries})
    assert len(world.client.calls) == retries + 1


def test_non_retryable_errors_are_not_retried(world: ExecutorWorld) -> None:
    """UNKNOWN here; SKILL_NOT_FOUND, INPUT_NOT_FOUND, RESPONSE_EMPTY and 401 above."""
    world.client.set_error(RuntimeError("boom"), one_shot=False)
    result = world.execute()
    assert failed_with(result, E.UNKNOWN) and "RuntimeError: boom" in str(result.error)
    assert len(world.client.calls) == 1
    assert world.state(result.task_id).status is TaskStatus.FAILED


def test_retryable_errors_of_the_config_are_all_that_is_repeated(world: ExecutorWorld) -> None:
    """A code that is left out is final."""
    world.client.generator = fails(Code.OVERLOADED)
    world.execute(config={"retryable_errors": (E.API_TIMEOUT,)})
    assert len(world.client.calls) == 1


@pytest.mark.parametrize("printed", [Code.OVERLOADED, Code.RATE_LIMITED])
def test_exponential_backoff_doubles(world: ExecutorWorld, printed: Code) -> None:
    """1 s, 2 s, 4 s on a virtual clock, without the driver's short waits and the renewal of a probe."""
    world.client.generator = fails(printed)
    clock = VirtualClock(time.time())
    config = create_default_config(max_retries=3)
    executor = AgentExecutor(world.client, world.root, config, environ={}, clock=clock)
    assert asyncio.run(executor.execute(RESEARCH)).status == "deferred"
    waits = [round(wait, 3) for wait in clock.slept if wait > 0.9 and wait != LEASE_SECONDS / 2]
    assert waits == [1.0, 2.0, 4.0]


def test_a_long_delay_is_not_cut(world: ExecutorWorld) -> None:
    """retry_delay_ms over a minute: 90 s, 180 s."""
    world.client.generator = fails(Code.OVERLOADED)
    clock = VirtualClock(time.time())
    config = create_default_config(retry_delay_ms=90_000)
    executor = AgentExecutor(world.client, world.root, config, environ={}, clock=clock)
    asyncio.run(executor.execute(RESEARCH))
    waits = [round(wait, 3) for wait in clock.slept if wait > 60]
    assert waits == [90.0, 180.0]


# Config overrides


@pytest.mark.parametrize("given", [{"agent_config": AgentConfig(model_tier="mega")}, {}])
def test_an_unknown_tier_is_refused_before_the_task_is_added(
    world: ExecutorWorld, given: dict[str, Any]
) -> None:
    """K3: no call, and no task."""
    result = world.execute(RESEARCH if given else replace(RESEARCH, tier="mega"), **given)
    assert failed_with(result, E.TASK_NOT_EXECUTABLE) and "unknown model tier 'mega'" in str(result.error)
    assert world.client.calls == []
    with Project.open(world.root, {}, create=True) as project:
        assert project.tasks() == []


def test_agent_config_overrides_model_tier(world: ExecutorWorld) -> None:
    """The override has precedence over the task and the config."""
    world.execute(replace(RESEARCH, tier="haiku"), agent_config=AgentConfig(model_tier="opus"))
    assert world.client.calls[0].model == DEFAULT_MODEL_MAP["opus"]


def test_agent_config_overrides_timeout(world: ExecutorWorld) -> None:
    """The timeout is per attempt: API_TIMEOUT, which is retried."""
    hanging = Setting(asyncio.Event())
    task = replace(RESEARCH, timeout_seconds=LONG)
    result = world.execute(task, hanging, agent_config=AgentConfig(timeout_ms=1, max_retries=1))
    assert failed_with(result, E.API_TIMEOUT)
    assert [one.code for one in world.attempts(result.task_id)] == [Code.TIMEOUT] * 2
    assert result.duration_ms < LONG * 1000


def test_agent_config_overrides_max_retries(world: ExecutorWorld) -> None:
    """The override has precedence over the task."""
    world.client.generator = fails(Code.OVERLOADED)
    world.execute(replace(RESEARCH, max_retries=9), agent_config=AgentConfig(max_retries=1))
    assert len(world.client.calls) == 2


def test_default_config_used_when_no_overrides_provided(world: ExecutorWorld) -> None:
    """Sonnet, two minutes, 4096 tokens, two retries."""
    world.client.generator = fails(Code.OVERLOADED)
    world.execute()
    request = world.client.calls[0]
    assert (request.model, request.timeout_seconds, request.max_tokens) == (
        DEFAULT_MODEL_MAP["sonnet"],
        120.0,
        4096,
    )
    assert len(world.client.calls) == 3


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("task", "config", "model"),
    [
        ({"tier": "haiku"}, {}, DEFAULT_MODEL_MAP["haiku"]),
        ({"model": "my-model"}, {}, "my-model"),
        ({}, {"default_model_tier": "opus"}, DEFAULT_MODEL_MAP["opus"]),
        ({"tier": "small"}, {"model_map": {"small": "tiny-1"}}, "tiny-1"),
    ],
)
def test_the_tasks_own_tier_has_precedence_over_the_config(
    world: ExecutorWorld, task: dict[str, Any], config: dict[str, Any], model: str
) -> None:
    """The task's model is used as it is, its tier by the map."""
    world.execute(replace(RESEARCH, **task), config={**config, "default_max_tokens": 77})
    assert (world.client.calls[0].model, world.client.calls[0].max_tokens) == (model, 77)


def test_models_of_the_settings_are_not_asked(world: ExecutorWorld) -> None:
    """Only the given client is used, whatever the project's settings are."""
    world.file(
        "ostler.toml", '[[models]]\nname = "a"\nexecutor = "claude"\n[documents]\nexecutor = "claude"\n'
    )
    assert world.execute(replace(RESEARCH, executor="codex")).status == "completed"
    assert len(world.client.calls) == 1


def test_a_task_of_another_type_is_a_result(tmp_path: Path) -> None:
    """C10: `execute` never raises, also not for a value that is no task."""
    for value in (None, "research", {"skill": "research"}):
        result = asyncio.run(AgentExecutor(MockClaudeClient(), tmp_path).execute(cast(Any, value)))
        assert result.status == "failed" and "expected a Task" in str(result.error)

"""The values of the seed: thirteen codes, the error, the result and the default config."""

from __future__ import annotations

import pytest

from ostler.config.load import load_settings
from ostler.errors import Code, OstlerError, UsageError, WarningCode, read_code
from ostler.llm.client import DEFAULT_MODEL_MAP
from ostler.model.task import Task
from ostler.project.agents.executor_config import (
    AgentConfig,
    ExecutorConfig,
    apply_config,
    create_default_config,
    to_settings,
)
from ostler.project.running.execution import (
    ExecutionError,
    ExecutionErrorCode,
    TokensUsed,
    WorkspaceError,
    create_failure,
    to_execution_code,
)

E = ExecutionErrorCode
OTHERS = {  # codes that an execution of a document cannot have, except for a bug
    *(Code.AGENT_NOT_FOUND, Code.AGENT_INCOMPATIBLE, Code.SPAWN_FAILED, Code.AGENT_FAILED, Code.AGENT_KILLED),
    *(Code.AGENT_OOM, Code.CRASH_LOOP, Code.NEEDS_INPUT, Code.SESSION_NOT_FOUND, Code.SESSION_IN_USE),
    *(Code.RESUME_UNSUPPORTED, Code.AGENT_BLOCKED, Code.STUCK, Code.ITERATION_LIMIT, Code.GATE_REJECTED),
    *(Code.GATE_UNRUNNABLE, Code.GIT_NO_COMMITS, Code.GIT_LOCKED, Code.GIT_CORRUPT, Code.BRANCH_EXISTS),
    *(Code.WORKTREE_LOST, Code.MERGE_CONFLICT, Code.PUSH_REJECTED, Code.PUBLISH_FAILED, Code.LFS_UNAVAILABLE),
    *(
        Code.REMOTE_UNREACHABLE,
        Code.DISK_LIMIT,
        Code.SANDBOX_UNAVAILABLE,
        Code.HELPER_STUCK,
        Code.STEP_REPEATS,
        Code.UNKNOWN,
    ),
}


def test_there_are_the_seeds_thirteen_codes() -> None:
    """Each of them has a code of ours."""
    assert len(E) == 13
    assert {to_execution_code(code) for code in (*Code, *WarningCode)} == set(E)


def test_every_code_of_ours_has_its_place() -> None:
    """A new code must be in the table or in the exceptions."""
    assert {code for code in Code if to_execution_code(code) is E.UNKNOWN} == OTHERS


@pytest.mark.parametrize("code", [code for code in E if code is not E.RESPONSE_TRUNCATED])
def test_a_seeds_code_becomes_itself_again(code: ExecutionErrorCode) -> None:
    """A seed's error of a client keeps its code."""
    assert to_execution_code(read_code(code)) is code


def test_execution_error_has_the_fields_of_the_seed() -> None:
    """Message, code, task and cause; the code may be a string."""
    cause = ValueError("why")
    error = ExecutionError("No.", E.API_ERROR, "t-1", cause)
    assert (str(error), error.code, error.task_id, error.cause) == ("No.", "API_ERROR", "t-1", cause)
    assert ExecutionError("No.", "ABORTED").code is E.ABORTED  # pyright: ignore


def test_an_error_becomes_a_failed_result() -> None:
    """An OstlerError keeps its code; any other error is UNKNOWN with its name."""
    ours = create_failure("t-1", "copy", WorkspaceError(Code.PATH_ESCAPE, "it leaves"))
    assert ours.error is not None and (ours.error.code, ours.error.message) == (
        E.WORKSPACE_WRITE_FAILED,
        "it leaves",
    )
    assert isinstance(ours.error.cause, OstlerError)
    other = create_failure("t-1", "copy", KeyError("x"))
    assert other.error is not None and (other.error.code, str(other.error)) == (E.UNKNOWN, "KeyError: 'x'")


def test_total_is_the_sum() -> None:
    """The sum of input and output."""
    assert TokensUsed(3, 4).total == 7


def test_create_default_config_has_the_seeds_defaults() -> None:
    """C137: each can be overridden, and each config has its own map."""
    config = create_default_config()
    assert config == ExecutorConfig(
        project_root=".",
        model_map=DEFAULT_MODEL_MAP,
        default_model_tier="sonnet",
        default_timeout_ms=120_000,
        default_max_tokens=4096,
        max_retries=2,
        retry_delay_ms=1000,
        retryable_errors=(E.API_ERROR, E.API_RATE_LIMITED, E.API_OVERLOADED, E.API_TIMEOUT),
    )
    assert create_default_config(max_retries=5, default_model_tier="opus").max_retries == 5
    assert config.model_map is not DEFAULT_MODEL_MAP
    with pytest.raises(TypeError):
        create_default_config(max_retry=5)


def test_the_config_becomes_settings() -> None:
    """The keys are those of the settings."""
    flags = to_settings(create_default_config(max_retries=7, retry_delay_ms=250), AgentConfig())
    settings = load_settings(None, {}, flags).settings
    retry = settings.retry
    assert (retry.max_retries, retry.base_delay_seconds, retry.jitter) == (7, 0.25, 0.0)
    assert settings.models == () and not settings.git.worktree
    assert settings.tiers == DEFAULT_MODEL_MAP


@pytest.mark.parametrize(
    ("delay_ms", "retries", "override", "seconds"),
    [(1000, 2, None, 60.0), (90_000, 2, None, 180.0), (90_000, 2, 4, 720.0), (90_000, 0, None, 90.0)],
)
def test_no_delay_is_cut(delay_ms: int, retries: int, override: int | None, seconds: float) -> None:
    """The longest delay of the settings is at least that of the last retry."""
    config = create_default_config(max_retries=retries, retry_delay_ms=delay_ms)
    flags = to_settings(config, AgentConfig(max_retries=override))
    assert load_settings(None, {}, flags).settings.retry.max_delay_seconds == seconds


def test_an_unknown_tier_is_refused() -> None:
    """K3: it is no model name; the message has the known ones."""
    config = create_default_config(model_map={"small": "tiny-1"})
    for task, overrides in ((Task("x", tier="mega"), AgentConfig()), (Task("x"), AgentConfig("mega"))):
        with pytest.raises(UsageError, match="unknown model tier 'mega'") as caught:
            apply_config(task, config, overrides)
        assert "small" in caught.value.hint
    assert apply_config(Task("x", model="any-1"), config, AgentConfig()).model == "any-1"


def test_an_argument_has_precedence_over_the_task_and_the_config() -> None:
    """Zero is a value."""
    config = create_default_config()
    plain = apply_config(Task("x"), config, AgentConfig())
    own = apply_config(Task("x", tier="haiku", timeout_seconds=5.0, max_retries=0), config, AgentConfig())
    wanted = apply_config(Task("x", model="m", max_retries=1), config, AgentConfig("opus", 10, 0))
    assert [(one.model, one.timeout_seconds, one.max_retries) for one in (plain, own, wanted)] == [
        (DEFAULT_MODEL_MAP["sonnet"], 120.0, 2),
        (DEFAULT_MODEL_MAP["haiku"], 5.0, 0),
        (DEFAULT_MODEL_MAP["opus"], 0.01, 0),
    ]

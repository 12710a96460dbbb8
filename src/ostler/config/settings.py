"""The settings, as one frozen tree. Units are in the names; defaults stand here and nowhere else."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ostler.model.call import Permissions

AtLeastOne = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0)]
PositiveSeconds = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Provider = Literal["anthropic", "openai"]
AS_WRITTEN = "as written"  # marks names that an environment variable of ours sets without lowering them
VariableName = Annotated[str, Meta(pattern="^[^=]+$"), AS_WRITTEN]


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[run]"""

    executor: str = "claude"
    model: str = ""
    jobs: AtLeastOne = 2
    timeout_seconds: PositiveSeconds = 3600.0
    idle_timeout_seconds: PositiveSeconds = 600.0
    result_grace_seconds: Seconds = 10.0
    grace_seconds: Seconds = 5.0


class ExecutorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[executors.NAME]"""

    type: str = ""  # empty: the same as the name
    command: str = ""  # empty: what the executor's type is called
    args: tuple[str, ...] = ()
    env: dict[VariableName, str] = {}
    permissions: Permissions = "accept-edits"
    provider: Provider = "anthropic"  # model_api: whose API is called
    max_tokens: AtLeastOne = 8192  # model_api: the longest answer


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[retry]"""

    max_retries: NotNegative = 2
    base_delay_seconds: Seconds = 1.0
    max_delay_seconds: Seconds = 60.0
    rate_limit_wait_seconds: Seconds = 60.0
    jitter: Share = 0.2


class GitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[git]"""

    worktree: bool = True
    branch_prefix: str = "ostler/"
    commit_prefix: str = "[ostler]"
    target: str = ""
    cleanup_on_complete: bool = True
    cleanup_on_fail: bool = False


class SandboxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[sandbox]"""

    tier: Literal["supervised"] = "supervised"
    env_allow: tuple[str, ...] = ()
    allow_unsandboxed_skip: bool = False


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be set; see config.load for where each value came from."""

    run: RunSettings = RunSettings()
    executors: dict[str, ExecutorSettings] = {}
    agents: dict[str, str] = {}  # role -> executor
    retry: RetrySettings = RetrySettings()
    git: GitSettings = GitSettings()
    sandbox: SandboxSettings = SandboxSettings()

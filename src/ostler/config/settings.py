"""The settings, as one frozen tree. Units are in the names; defaults stand here and nowhere else."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ostler.model.call import Permissions
from ostler.model.plan import GateType, Publishing
from ostler.model.task import Weight

AtLeastOne = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0)]
PositiveSeconds = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Dollars = Annotated[float, Meta(ge=0)]
Provider = Literal["anthropic", "openai"]
Strategy = Literal["round-robin", "priority", "cost-aware", "random"]
UNIQUE = "unique"  # marks a key whose value no two tables of a list may share
AS_WRITTEN = "as written"  # marks names that an environment variable of ours sets without lowering them
VariableName = Annotated[str, Meta(pattern="^[^=]+$"), AS_WRITTEN]
Word = Annotated[str, Meta(min_length=1)]
ModelName = Annotated[Word, AS_WRITTEN]
FolderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]


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
    tools: bool = False  # model_api: it may list, read and search files of the project, and change none


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[[models]]: one model of the pool, in the order of the file"""

    name: Annotated[Word, UNIQUE]
    executor: Word
    model: str = ""  # empty: the agent's own default
    account: str = ""  # whose limits it shares; empty: those of its executor
    cost_weight: Annotated[int, Meta(ge=1, le=100)] = 50
    timeout_seconds: PositiveSeconds | None = None  # none: as [run] says
    enabled: bool = True
    fallback: bool = False  # used when the others failed, or at once after a quota
    args: tuple[str, ...] = ()
    env: dict[VariableName, str] = {}


class SelectionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[selection]"""

    strategy: Strategy = "round-robin"
    force_fallback: bool = False  # begin with the fallback models


class PoolSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[pools.NAME]: places for agents that run at the same time; what is not set is as worker.slots has it"""

    size: AtLeastOne | None = None
    nice: Annotated[int, Meta(ge=0, le=19)] | None = None
    memory_mb: AtLeastOne | None = None  # an agent that takes more, with all that it started, is stopped


class HostSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[host]"""

    min_free_memory_mb: NotNegative = 512
    start_stagger_seconds: Seconds = 0.2


class BudgetSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[budget]"""

    task_usd: Dollars | None = None
    day_usd: Dollars | None = None
    on_exceed: Literal["pause", "fail"] = "pause"


class PriceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[prices."MODEL"]: dollars for a million tokens, above the table that comes with Ostler"""

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None  # none: a tenth of input
    cache_write: Dollars | None = None  # none: a quarter more than input


class PluginSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[plugins]"""

    load: tuple[str, ...] = ()  # module:attribute, besides what installed packages offer


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[retry]"""

    max_retries: NotNegative = 2
    base_delay_seconds: Seconds = 1.0
    max_delay_seconds: Seconds = 60.0
    rate_limit_wait_seconds: Seconds = 60.0
    jitter: Share = 0.2
    breaker_failures: AtLeastOne = 3  # in a row; the model then rests
    breaker_seconds: PositiveSeconds = 600.0
    budget_per_hour: NotNegative = 50  # repeats of all tasks together
    self_healing: bool = False  # after many failures of one kind: fewer at once, longer waits


class PhaseOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """[phases.options.NAME]"""

    max_iterations: AtLeastOne | None = None  # none: as the weight has it
    checkpoint: bool = True  # false: its work is committed with that of a later phase
    depends_on: tuple[str, ...] = ()  # phases that come before it, however they are listed
    role: str = ""  # empty: as usual for the phase


class PhaseSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[phases]"""

    profile: Literal["auto", "fast", "safe", "strict"] = "auto"
    max_phase_retries: NotNegative = 2
    plans: dict[Weight, tuple[str, ...]] = {}  # weight -> its phases, where they differ from the usual ones
    options: dict[str, PhaseOptions] = {}
    retry_map: dict[str, str] = {}  # phase -> where the work goes back to when it does not pass


class GateSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[gates]"""

    default: GateType = "auto"
    weights: dict[Weight, GateType] = {}  # over phases, over default
    phases: dict[str, GateType] = {}  # "merge": before publishing
    commands: dict[str, str] = {}  # phase -> what must succeed on its commit
    criteria: dict[str, tuple[str, ...]] = {}  # phase -> what an auto or ai gate looks for
    timeout_seconds: PositiveSeconds = 600.0


class WorkspaceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[workspace]: prepares each new worktree and each checkout of a gate"""

    setup: str = ""  # a shell command
    copy: tuple[str, ...] = ()  # paths of the project, as they are now
    link: tuple[str, ...] = ()  # the same, shared instead of copied
    timeout_seconds: PositiveSeconds = 600.0


class SkillsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[skills]"""

    paths: tuple[Word, ...] = ()  # where skills are besides .agents/skills and .claude/skills
    squads: dict[FolderName, tuple[str, ...]] = {}  # squad -> its skills, over what they say themselves
    foundation: tuple[str, ...] = ()  # skills whose output is a context file
    locked: bool = False  # true: no task runs with a skill that .agents/skills.lock does not know as it is
    max_skill_bytes: AtLeastOne = 262_144
    max_reference_bytes: AtLeastOne = 262_144  # a larger one is left out, with a warning
    max_references: NotNegative = 100


class DocumentsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[documents]: where the documents of skills are, below the project"""

    context: Word = "context"
    outputs: Word = "outputs"
    executor: Word = "model_api"  # who writes where neither the task nor a flag says
    max_context_tokens: NotNegative = 150_000  # over it references are left out, the last first; 0: no limit


class PullRequestSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[pull_request]"""

    draft: bool = False
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    auto_merge: bool = False


class GitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[git]"""

    worktree: bool = True
    branch_prefix: str = "ostler/"
    commit_prefix: str = "[ostler]"
    target: str = ""
    cleanup_on_complete: bool = True
    cleanup_on_fail: bool = False
    warm_worktrees: NotNegative = 2  # how many large ones are kept, clean, for the next task; 0: none
    on_complete: Publishing = "none"
    push_remote: str = ""  # a fork that branches are pushed to; empty: the remote of the target
    allow_secrets: bool = False  # push what looks like a key or a password


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
    tiers: dict[str, str] = {}  # opus, sonnet, haiku -> model
    models: tuple[ModelSettings, ...] = ()
    selection: SelectionSettings = SelectionSettings()
    retry: RetrySettings = RetrySettings()
    pools: dict[str, PoolSettings] = {}
    host: HostSettings = HostSettings()
    budget: BudgetSettings = BudgetSettings()
    prices: dict[ModelName, PriceSettings] = {}
    plugins: PluginSettings = PluginSettings()
    phases: PhaseSettings = PhaseSettings()
    gates: GateSettings = GateSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    skills: SkillsSettings = SkillsSettings()
    documents: DocumentsSettings = DocumentsSettings()
    git: GitSettings = GitSettings()
    pull_request: PullRequestSettings = PullRequestSettings()
    sandbox: SandboxSettings = SandboxSettings()

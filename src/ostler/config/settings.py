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
Moment = Literal["needs_you", "completed", "failed", "limited"]
UNIQUE = "unique"  # marks a key whose value no two tables of a list may share
AS_WRITTEN = "as written"  # marks names that an environment variable of ours sets without lowering them
ALTERNATIVE = "alternative"  # marks the keys of which a table must have one, and only one
VariableName = Annotated[str, Meta(pattern="^[^=]+$"), AS_WRITTEN]
Word = Annotated[str, Meta(min_length=1)]
ModelName = Annotated[Word, AS_WRITTEN]
FolderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[run]"""

    executor: str = "claude"  # the agent that works on tasks
    model: str = ""  # empty: the agent's own choice
    jobs: AtLeastOne = 2  # tasks at the same time
    timeout_seconds: PositiveSeconds = 3600.0  # the longest that one attempt may take
    idle_timeout_seconds: PositiveSeconds = 600.0  # the longest that an agent may give no sign of life
    result_grace_seconds: Seconds = 10.0  # for an agent to exit after its result
    grace_seconds: Seconds = 5.0  # between the polite stop and the kill


class ExecutorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[executors.NAME]"""

    type: str = ""  # empty: the same as the name
    command: str = ""  # empty: what the executor's type is called
    args: tuple[str, ...] = ()  # further arguments for each call
    env: dict[VariableName, str] = {}  # further variables, over those that it gets otherwise
    permissions: Permissions = "accept-edits"  # ask: headless agents then refuse edits; skip: everything
    provider: Provider = "anthropic"  # model_api: whose API is called
    max_tokens: AtLeastOne = 8192  # model_api: the longest answer
    tools: bool = False  # model_api: it may list, read and search files of the project, and change none


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[[models]]: one model of the pool, in the order of the file"""

    name: Annotated[Word, UNIQUE]  # as screens and `ostler models` call it
    executor: Word  # the agent that asks it
    model: str = ""  # empty: the agent's own default
    account: str = ""  # whose limits it shares; empty: those of its executor
    cost_weight: Annotated[int, Meta(ge=1, le=100)] = 50  # 1 to 100; cost-aware takes the lowest first
    timeout_seconds: PositiveSeconds | None = None  # none: as [run] says
    enabled: bool = True  # false: never used
    fallback: bool = False  # used when the others failed, or at once after a quota
    args: tuple[str, ...] = ()  # after those of its executor
    env: dict[VariableName, str] = {}  # over those of its executor


class SelectionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[selection]"""

    strategy: Strategy = "round-robin"  # which of several models is asked first
    force_fallback: bool = False  # begin with the fallback models


class PoolSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[pools.NAME]: places for agents that run at the same time; what is not set is as worker.slots has it"""

    size: AtLeastOne | None = None  # agents at the same time
    nice: Annotated[int, Meta(ge=0, le=19)] | None = None  # 0 to 19; the higher, the more they give way
    memory_mb: AtLeastOne | None = None  # an agent that takes more, with all that it started, is stopped


class HostSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[host]"""

    min_free_memory_mb: NotNegative = 512  # below it no agent is started
    start_stagger_seconds: Seconds = 0.2  # between the starts of two agents


class BudgetSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[budget]"""

    task_usd: Dollars | None = None  # what one task may cost
    day_usd: Dollars | None = None  # what all tasks may cost in a day
    on_exceed: Literal["pause", "fail"] = "pause"  # what becomes of a task that would cost more


class PriceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[prices."MODEL"]: dollars for a million tokens, above the table that comes with Ostler"""

    input: Dollars  # what is sent
    output: Dollars  # what is answered
    cache_read: Dollars | None = None  # none: a tenth of input
    cache_write: Dollars | None = None  # none: a quarter more than input


class PluginSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[plugins]"""

    load: tuple[str, ...] = ()  # module:attribute, besides what installed packages offer


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[retry]"""

    max_retries: NotNegative = 2  # on one model within one call; 0: each model once
    base_delay_seconds: Seconds = 1.0  # before the first repeat; twice as long before each further one
    max_delay_seconds: Seconds = 60.0  # the longest of these; a task is deferred for longer ones
    rate_limit_wait_seconds: Seconds = 60.0  # after a limit that does not say when it ends
    jitter: Share = 0.2  # how far a delay may differ from that
    breaker_failures: AtLeastOne = 3  # in a row; the model then rests
    breaker_seconds: PositiveSeconds = 600.0  # how long it rests
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

    profile: Literal["auto", "fast", "safe", "strict"] = "auto"  # who judges: see Phases and gates
    max_phase_retries: NotNegative = 2  # times that a phase may send the work back
    plans: dict[Weight, tuple[str, ...]] = {}  # weight -> its phases, where they differ from the usual ones
    options: dict[str, PhaseOptions] = {}  # phase -> how it differs from the usual
    retry_map: dict[str, str] = {}  # phase -> where the work goes back to when it does not pass


class GateSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[gates]"""

    default: GateType = "auto"  # the gate behind each phase
    weights: dict[Weight, GateType] = {}  # over phases, over default
    phases: dict[str, GateType] = {}  # "merge": before publishing
    commands: dict[str, str] = {}  # phase -> what must succeed on its commit
    criteria: dict[str, tuple[str, ...]] = {}  # phase -> what an auto or ai gate looks for
    timeout_seconds: PositiveSeconds = 600.0  # for each command


class WorkspaceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[workspace]: prepares each new worktree and each checkout of a gate"""

    setup: str = ""  # a shell command
    copy: tuple[str, ...] = ()  # paths of the project, as they are now
    link: tuple[str, ...] = ()  # the same, shared instead of copied
    timeout_seconds: PositiveSeconds = 600.0  # for the setup


class SkillsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[skills]"""

    paths: tuple[Word, ...] = ()  # where skills are besides .agents/skills and .claude/skills
    squads: dict[FolderName, tuple[str, ...]] = {}  # squad -> its skills, over what they say themselves
    foundation: tuple[str, ...] = ()  # skills whose output is a context file
    locked: bool = False  # true: no task runs with a skill that .agents/skills.lock does not know as it is
    max_skill_bytes: AtLeastOne = 262_144  # a larger SKILL.md is refused
    max_reference_bytes: AtLeastOne = 262_144  # a larger one is left out, with a warning
    max_references: NotNegative = 100  # files below references/ that a prompt gets


class DocumentsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[documents]: where the documents of skills are, below the project"""

    context: Word = "context"  # the directory of context files
    outputs: Word = "outputs"  # the directory of what skills write
    executor: Word = "model_api"  # who writes where neither the task nor a flag says
    max_context_tokens: NotNegative = 150_000  # over it references are left out, the last first; 0: no limit


class PullRequestSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[pull_request]"""

    draft: bool = False  # true: it is opened as a draft
    labels: tuple[str, ...] = ()  # that it gets
    reviewers: tuple[str, ...] = ()  # who are asked to look
    auto_merge: bool = False  # true: GitHub merges it when its checks pass


class GitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[git]"""

    worktree: bool = True  # false: tasks change the project's own directory, one at a time
    branch_prefix: str = "ostler/"  # before the task's id
    commit_prefix: str = "[ostler]"  # before each message
    target: str = ""  # the branch to start from; empty: the one checked out
    cleanup_on_complete: bool = True  # the worktree of a completed task is taken away
    cleanup_on_fail: bool = False  # that of a failed one too
    warm_worktrees: NotNegative = 2  # how many large ones are kept, clean, for the next task; 0: none
    on_complete: Publishing = "none"  # what becomes of the branch
    push_remote: str = ""  # a fork that branches are pushed to; empty: the remote of the target
    allow_secrets: bool = False  # push what looks like a key or a password


class SandboxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[sandbox]"""

    tier: Literal["supervised"] = "supervised"  # what holds an agent
    env_allow: tuple[str, ...] = ()  # further variables that agents and gates may see
    allow_unsandboxed_skip: bool = False  # lets permissions = "skip" run with nothing that holds the agent


class NotifySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[[notify]]: who is told, by a program of yours or by a webhook"""

    # What it is told of.
    on: Annotated[tuple[Moment, ...], Meta(min_length=1)] = ("needs_you", "completed", "failed", "limited")
    # A program and its arguments, never a shell; the message is on its input.
    command: Annotated[tuple[Word, ...], Meta(min_length=1), ALTERNATIVE] = ()
    url: Annotated[str, Meta(pattern="^https?://[^ /?#]+"), ALTERNATIVE] = ""  # or where it is posted to
    secret_env: str = ""  # url: the variable with the key that it is signed with; empty: it is not signed
    timeout_seconds: PositiveSeconds = 10.0  # of one try


class TelemetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[telemetry]"""

    # Such as http://127.0.0.1:4318; empty: OTEL_EXPORTER_OTLP_ENDPOINT, if that is set.
    otlp_endpoint: Annotated[str, Meta(pattern=r"^(https?://[^ /?#]+.*)?\Z")] = ""


class ServerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[server]: where `ostler serve` listens"""

    host: Word = "127.0.0.1"  # of this machine only
    port: Annotated[int, Meta(ge=0, le=65535)] = 4747  # 0: one that is free


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
    server: ServerSettings = ServerSettings()
    notify: tuple[NotifySettings, ...] = ()
    telemetry: TelemetrySettings = TelemetrySettings()

"""All settings as one frozen tree. Names carry units; defaults are defined here only."""

# Annotations are values here: msgspec would compile each text again, a tenth of the start of a run.

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ostler.config.cluster import BlobsSettings, EngineSettings, StoreSettings
from ostler.config.editors import Editor
from ostler.model.call import PermissionSetting
from ostler.model.plan import GateType, Publishing
from ostler.model.policy.sandbox import Network, Tier
from ostler.model.task import Weight

AtLeastOne = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0)]
PositiveSeconds = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Dollars = Annotated[float, Meta(ge=0)]
Provider = Literal["anthropic", "openai"]
Strategy = Literal["round-robin", "priority", "cost-aware", "random"]
Moment = Literal["needs_you", "completed", "failed", "limited", "back"]
UNIQUE = "unique"  # marks a key whose value must be unique among the tables of a list
AS_WRITTEN = "as written"  # marks names that keep their case when set by an environment variable
ALTERNATIVE = "alternative"  # marks keys of which a table must have exactly one
VariableName = Annotated[str, Meta(pattern="^[^=]+$", title='name without "="'), AS_WRITTEN]
Word = Annotated[str, Meta(min_length=1)]
ModelName = Annotated[Word, AS_WRITTEN]
AbsolutePath = Annotated[str, Meta(pattern="^[/~]", title='str that starts with "/" or "~"')]
_NAME = 'name of letters, digits, ".", "_" and "-"'
FolderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z", title=_NAME)]


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[run]"""

    executor: str = "claude"  # agent that works on tasks
    model: str = ""  # empty: the agent's default
    jobs: AtLeastOne = 2  # tasks that run at the same time
    timeout_seconds: PositiveSeconds = 3600.0  # maximum duration of one attempt
    idle_timeout_seconds: PositiveSeconds = 600.0  # maximum time without a sign of activity
    result_grace_seconds: Seconds = 10.0  # time for an agent to exit after its result
    grace_seconds: Seconds = 5.0  # time between SIGTERM and SIGKILL
    # Different tasks that fail in a row with one code before no further task is started; 0: no limit.
    stop_after_failures: NotNegative = 5
    accept_proposals: bool = False  # start tasks that agents propose without asking a person
    max_proposals: NotNegative = 10  # tasks that the agents of one task may propose
    # 1: a proposed task cannot propose others; 0: agents propose nothing
    max_proposal_depth: NotNegative = 1


class ExecutorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[executors.NAME]"""

    type: str = ""  # empty: the same as the name
    command: str = ""  # empty: the default command of the type
    args: tuple[str, ...] = ()  # extra arguments for each call
    # amp, crush, droid, kilocode, kimi: replaces the built-in arguments; unset: args are added to them
    preset_args: tuple[str, ...] | None = None
    env: dict[VariableName, str] = {}  # extra environment variables; they take precedence
    # ask: headless agents then refuse edits; skip: no permission checks; auto: skip in a sandbox
    permissions: PermissionSetting = "auto"
    prefer_pty: bool = False  # run the program in a pseudo-terminal, where one can be opened
    provider: Provider = "anthropic"  # model_api: API to call
    max_tokens: AtLeastOne = 8192  # model_api: maximum length of an answer
    tools: bool = False  # model_api: allow listing, reading and searching project files; never changes


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[[models]]: one model of the pool, in file order"""

    name: Annotated[Word, UNIQUE]  # name on screens and in `ostler models`
    executor: Word  # executor that calls it
    model: str = ""  # empty: the agent's default
    account: str = ""  # account whose limits it shares; empty: one per executor
    # 1 to 100; cost-aware selection uses the lowest first
    cost_weight: Annotated[int, Meta(ge=1, le=100)] = 50
    timeout_seconds: PositiveSeconds | None = None  # unset: the value of [run]
    enabled: bool = True  # false: not used
    fallback: bool = False  # used when the others failed, or at once when a quota is used up
    args: tuple[str, ...] = ()  # added after those of its executor
    env: dict[VariableName, str] = {}  # override those of its executor


class SelectionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[selection]"""

    strategy: Strategy = "round-robin"  # which model is used first
    force_fallback: bool = False  # start with the fallback models


class PoolSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[pools.NAME]: slots for agents that run at the same time; defaults are in calls.slots"""

    size: AtLeastOne | None = None  # agents that run at the same time
    # 0 to 19; higher values yield the CPU to other processes
    nice: Annotated[int, Meta(ge=0, le=19)] | None = None
    memory_mb: AtLeastOne | None = None  # memory of an agent with its children; it is stopped above this


class HostSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[host]"""

    min_free_memory_mb: NotNegative = 512  # no agent is started below this
    memory_wait_seconds: Seconds = 60.0  # wait for memory while no agent of the run can free any
    start_stagger_seconds: Seconds = 0.2  # delay between two agent starts


class BudgetSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[budget]"""

    task_usd: Dollars | None = None  # maximum cost of one task
    day_usd: Dollars | None = None  # maximum cost of all tasks per day
    on_exceed: Literal["pause", "fail"] = "pause"  # what happens to a task that exceeds its budget


class PriceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[prices."MODEL"]: US dollars per million tokens; overrides the built-in table"""

    input: Dollars  # input tokens
    output: Dollars  # output tokens
    cache_read: Dollars | None = None  # unset: a tenth of input
    cache_write: Dollars | None = None  # unset: 1.25 times input


class PluginSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[plugins]"""

    # module:attribute, from .agents/plugins or an installed package; packages with entry points are added
    load: tuple[str, ...] = ()


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[retry]"""

    max_retries: NotNegative = 2  # repeats on one model within one call; 0: each model once
    base_delay_seconds: Seconds = 1.0  # before the first repeat; doubles each time
    max_delay_seconds: Seconds = 60.0  # longest wait; a task is deferred for longer waits
    rate_limit_wait_seconds: Seconds = 60.0  # after a limit without a reset time
    # Until a call probes a provider that cannot be reached or used; doubles up to 15 minutes.
    probe_delay_seconds: PositiveSeconds = 15.0
    jitter: Share = 0.2  # relative random variation of a delay
    breaker_failures: AtLeastOne = 3  # failures in a row before a model is in cooldown
    breaker_seconds: PositiveSeconds = 600.0  # duration of the cooldown
    budget_per_hour: NotNegative = 50  # repeats of all tasks together
    self_healing: bool = False  # after many failures of one kind: fewer agents, longer waits


class PreflightSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[preflight]: checks of models before a run starts tasks: program, version, login, limits"""

    # auto: if tasks may use models of several agents or accounts; with one, its first call is the check
    models: Literal["auto", "always", "never"] = "auto"
    min_models: AtLeastOne = 1  # tasks start when so many are ready; the others join when their check ends
    settle_seconds: Seconds = 2.0  # how long slower checks are waited for, once min_models are ready
    timeout_seconds: PositiveSeconds = 10.0  # per program; a slower one is used, and reported as slow
    call: bool = False  # also send each model a short prompt, which may cost money


class LimitsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[limits]: windows of subscriptions and API accounts"""

    # Used share of a window from which no further task is started on its account.
    stop_at: Share = 0.95
    keep_for_me: Share = 0.0  # share of each window that tasks leave to the person
    use_before_reset: bool = False  # true: start P3 and P4 tasks only before a reset, with what is left
    use_before_reset_seconds: PositiveSeconds = 3600.0  # how long before the reset P3 and P4 tasks start
    # After an agent retried at a limit and printed nothing for so long, it is ended and its session kept.
    quiet_seconds: PositiveSeconds = 60.0
    rotate_accounts: bool = False  # true: at a limit, continue with another account of the same agent


class PhaseOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """[phases.options.NAME]"""

    max_iterations: AtLeastOne | None = None  # unset: the default of the weight
    checkpoint: bool = True  # false: its work is committed with that of a later phase
    depends_on: tuple[str, ...] = ()  # phases that must run before it
    role: str = ""  # empty: the default of the phase


class PhaseSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[phases]"""

    profile: Literal["auto", "fast", "safe", "strict"] = "auto"  # which gates apply: see Phases and gates
    max_phase_retries: NotNegative = 2  # how often a phase may send the work back
    max_steps: AtLeastOne = 1000  # calls, commits and gates of a task; then it is paused until you resume it
    plans: dict[Weight, tuple[str, ...]] = {}  # weight -> its phases, where they differ from the default
    options: dict[str, PhaseOptions] = {}  # phase -> its options
    retry_map: dict[str, str] = {}  # phase -> the phase to return to when it fails
    prompts: dict[str, Word] = {}  # phase -> template of its prompt, used instead of the project's file


class GateOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """[gates.options.NAME]: a gate by the name of its phase"""

    control: bool = True  # false: do not check whether its command fails when the work is broken
    human_timeout_seconds: PositiveSeconds | None = None  # unset: gates.human_timeout_seconds
    # unset: gates.human_timeout_action; only that one can approve
    human_timeout_action: Literal["remind", "reject", "block", "cancel"] | None = None


class QualityCheck(Struct, frozen=True, forbid_unknown_fields=True):
    """[gates.checks.NAME]: a command that is run on the commit after a phase, in addition to its gate"""

    command: Word  # a shell command
    phase: str = "implement"  # phase after which it is run
    # block: a failure sends the work back; warn: it is a warning; skip: the check is not run
    on_failure: Literal["block", "warn", "skip"] = "block"
    timeout_seconds: PositiveSeconds = 120.0  # of the command


class GateSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[gates]"""

    default: GateType = "auto"  # gate after each phase
    weights: dict[Weight, GateType] = {}  # overrides phases and default; a command still runs
    phases: dict[str, GateType] = {}  # "merge": before publishing; "skip": also switches its command off
    commands: dict[str, str] = {}  # phase -> command that must succeed on its commit
    # auto: the strongest that works; bind-over: that or no verdict; none: no verdict if links are found
    isolation: Literal["auto", "bind-over", "none"] = "auto"
    # Without namespaces: auto: build an environment of the commit's lockfile, with the network; off: do not
    environment: Literal["auto", "off"] = "auto"
    # Size of all cached environments of the user; unused ones go first
    environments_max_mb: NotNegative = 5000
    control: bool = True  # check once whether a command fails when the work is broken
    allow_test_changes: bool = False  # true: tasks may remove, skip or change existing tests
    # How long a human gate waits before human_timeout_action; unset: until a person decides.
    human_timeout_seconds: PositiveSeconds | None = None
    # after human_timeout_seconds; remind: send a notification and wait on
    human_timeout_action: Literal["remind", "approve", "reject", "block", "cancel"] = "block"
    options: dict[str, GateOptions] = {}  # phase -> options of its gate
    checks: dict[FolderName, QualityCheck] = {}  # name -> a command after a phase
    criteria: dict[str, tuple[str, ...]] = {}  # phase -> criteria of an auto or ai gate
    timeout_seconds: PositiveSeconds = 600.0  # per command


class WorkspaceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[workspace]: prepares each new worktree and each gate checkout"""

    setup: str = ""  # a shell command
    copy: tuple[str, ...] = ()  # paths of the project to copy
    link: tuple[str, ...] = ()  # paths of the project to link
    timeout_seconds: PositiveSeconds = 600.0  # of the setup command
    # Files that no commit contains are copied up to this size; above it, the worktree is kept.
    keep_left_mb: NotNegative = 50
    ignore_left: tuple[Word, ...] = ()  # names of files and directories that are not results, such as build


class SkillsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[skills]"""

    paths: tuple[Word, ...] = ()  # directories in addition to .agents/skills and .claude/skills
    squads: dict[FolderName, tuple[str, ...]] = {}  # squad -> its skills; overrides the skills' own squads
    foundation: tuple[str, ...] = ("product-marketing-context",)  # skills whose output is a context file
    locked: bool = False  # true: refuse skills that differ from .agents/skills.lock
    max_skill_bytes: AtLeastOne = 262_144  # maximum size of a SKILL.md
    max_reference_bytes: AtLeastOne = 262_144  # larger files are left out, with a warning
    max_references: NotNegative = 100  # files below references/ in a prompt
    max_files: AtLeastOne = 1000  # files of a skill that agents can read; others are left out, with a warning
    max_file_bytes: AtLeastOne = 10_485_760  # the same for the size of a file
    max_total_bytes: AtLeastOne = 52_428_800  # the same for all files together


class DocumentsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[documents]: paths of documents below the project"""

    context: Word = "context"  # directory of context files
    outputs: Word = "outputs"  # directory of skill outputs
    # More directories in which a document may be written; "." is the whole project, without hidden files.
    outputs_allow: tuple[Word, ...] = ("docs",)
    executor: Word = "model_api"  # default executor for documents
    tier: str = ""  # default tier or model; empty: run.model for the same executor, else sonnet for model_api
    max_context_tokens: NotNegative = 150_000  # above it references are left out, last first; 0: no limit


class PullRequestSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[pull_request]"""

    draft: bool = False  # open as draft
    labels: tuple[str, ...] = ()  # labels of the pull request
    reviewers: tuple[str, ...] = ()  # requested reviewers
    auto_merge: bool = False  # true: GitHub merges it when its checks pass


class GitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[git]"""

    worktree: bool = True  # false: tasks change the project directory itself, one at a time
    branch_prefix: str = "ostler/"  # prefix of branch names
    commit_prefix: str = "[ostler]"  # prefix of commit messages
    target: str = ""  # base branch; empty: the one checked out
    cleanup_on_complete: bool = True  # remove the worktree of a completed task
    cleanup_on_fail: bool = False  # remove the worktree of a failed task
    warm_worktrees: NotNegative | None = None  # kept for reuse if the repository is large; unset: run.jobs
    on_complete: Publishing = "none"  # what happens to the branch
    push_remote: str = ""  # remote of a fork to push to; empty: the remote of the target
    allow_secrets: bool = False  # push text that looks like a key or password


class SandboxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[sandbox]"""

    # auto: bubblewrap if its self-test passes, else supervised; a named tier that does not work is an error
    tier: Tier = "auto"
    network: Network = "proxy"  # in a sandbox. proxy: allowed hosts only; off: none; on: everything
    # HOST, HOST:PORT or *.DOMAIN that agents and gates may connect to; localhost:PORT for a local service
    allow_hosts: tuple[Word, ...] = ()
    # more files and directories that are readable in the sandbox; a path starts with / or ~/
    allow_paths: tuple[AbsolutePath, ...] = ()
    # Files of the home directory that agents get, or FILE#KEY for one part of a JSON file
    home: tuple[Word, ...] = ()
    # Agent configuration that a task may change, such as ".vscode"; else it is that of the base commit
    writable_config: tuple[Word, ...] = ()
    image: str = ""  # of the tiers docker and podman; it needs python3 (3.8 or newer) and the agent
    max_processes: AtLeastOne = 2048  # per attempt
    max_file_mb: AtLeastOne = 4096  # largest file that a process may write
    max_disk_mb: AtLeastOne = 20480  # worktree and home directory of a task together
    env_allow: tuple[str, ...] = ()  # extra variables passed to agents and gates
    allow_unsandboxed_skip: bool = False  # allow permissions = "skip" without a sandbox


class SecretsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[secrets]: values that are redacted in all records, in addition to the known forms of keys"""

    # Variables whose values are redacted, or patterns such as ACME_*; KEY, TOKEN and PASSWORD are known.
    env: tuple[Word, ...] = ()
    files: tuple[Word, ...] = ()  # files whose values are redacted, such as those of NAME=VALUE


class NotifySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[[notify]]: a program or webhook that receives messages"""

    # Events to send.
    on: Annotated[tuple[Moment, ...], Meta(min_length=1)] = (
        "needs_you",
        "completed",
        "failed",
        "limited",
        "back",
    )
    # A program and its arguments, not a shell command; the message is on stdin.
    command: Annotated[tuple[Word, ...], Meta(min_length=1), ALTERNATIVE] = ()
    url: Annotated[str, Meta(pattern="^https?://[^ /?#]+", title="https://HOST"), ALTERNATIVE] = ""  # webhook
    secret_env: str = ""  # url: variable with the signing key; empty: not signed
    timeout_seconds: PositiveSeconds = 10.0  # per delivery attempt


class TelemetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[telemetry]"""

    # Such as http://127.0.0.1:4318; empty: OTEL_EXPORTER_OTLP_ENDPOINT, if set.
    otlp_endpoint: Annotated[str, Meta(pattern=r"^(https?://[^ /?#]+.*)?\Z", title="http://HOST")] = ""


LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")


class ServerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[server]: address of `ostler serve`"""

    host: Word = "127.0.0.1"  # loopback only
    port: Annotated[int, Meta(ge=0, le=65535)] = 4747  # 0: a free port
    editor: Editor = "vscode"  # that links of the dashboard open; empty: no links


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings; config.load records the source of each value."""

    run: RunSettings = RunSettings()
    executors: dict[str, ExecutorSettings] = {}
    agents: dict[str, str] = {}  # role -> executor
    tiers: dict[str, str] = {}  # opus, sonnet, haiku or a name of your own -> model; sonnet is the default
    models: tuple[ModelSettings, ...] = ()
    selection: SelectionSettings = SelectionSettings()
    retry: RetrySettings = RetrySettings()
    limits: LimitsSettings = LimitsSettings()
    preflight: PreflightSettings = PreflightSettings()
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
    secrets: SecretsSettings = SecretsSettings()
    engine: EngineSettings = EngineSettings()
    store: StoreSettings = StoreSettings()
    blobs: BlobsSettings = BlobsSettings()
    server: ServerSettings = ServerSettings()
    notify: tuple[NotifySettings, ...] = ()
    telemetry: TelemetrySettings = TelemetrySettings()

"""Error codes, their properties, and the exceptions that carry them.

Expected endings of a task are values (model.outcome), not exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

from msgspec import Struct


class Code(StrEnum):
    """The closed list of error codes; codes are added, never renamed."""

    # agent
    AGENT_NOT_FOUND = "AGENT_NOT_FOUND"
    AGENT_INCOMPATIBLE = "AGENT_INCOMPATIBLE"
    SPAWN_FAILED = "SPAWN_FAILED"
    AGENT_FAILED = "AGENT_FAILED"
    AGENT_KILLED = "AGENT_KILLED"
    AGENT_OOM = "AGENT_OOM"
    CRASH_LOOP = "CRASH_LOOP"
    TIMEOUT = "TIMEOUT"
    IDLE_TIMEOUT = "IDLE_TIMEOUT"
    NEEDS_INPUT = "NEEDS_INPUT"
    NO_RESULT = "NO_RESULT"
    RESPONSE_EMPTY = "RESPONSE_EMPTY"
    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    SESSION_IN_USE = "SESSION_IN_USE"
    RESUME_UNSUPPORTED = "RESUME_UNSUPPORTED"
    OUTPUT_LIMIT = "OUTPUT_LIMIT"
    # model
    RATE_LIMITED = "RATE_LIMITED"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    BILLING = "BILLING"
    OVERLOADED = "OVERLOADED"
    AUTH_FAILED = "AUTH_FAILED"
    MODEL_NOT_FOUND = "MODEL_NOT_FOUND"
    API_ERROR = "API_ERROR"
    NETWORK = "NETWORK"
    STREAM_BROKEN = "STREAM_BROKEN"
    PROMPT_TOO_LARGE = "PROMPT_TOO_LARGE"
    REFUSED = "REFUSED"
    MODELS_EXHAUSTED = "MODELS_EXHAUSTED"
    SLOT_TIMEOUT = "SLOT_TIMEOUT"
    # task
    TASK_NOT_EXECUTABLE = "TASK_NOT_EXECUTABLE"
    CONFLICT = "CONFLICT"
    AGENT_BLOCKED = "AGENT_BLOCKED"
    STUCK = "STUCK"
    ITERATION_LIMIT = "ITERATION_LIMIT"
    GATE_REJECTED = "GATE_REJECTED"
    GATE_UNRUNNABLE = "GATE_UNRUNNABLE"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    DEPENDENCY_FAILED = "DEPENDENCY_FAILED"
    ABORTED = "ABORTED"
    INTERRUPTED = "INTERRUPTED"
    # git
    GIT_NO_COMMITS = "GIT_NO_COMMITS"
    GIT_LOCKED = "GIT_LOCKED"
    GIT_CORRUPT = "GIT_CORRUPT"
    BRANCH_EXISTS = "BRANCH_EXISTS"
    WORKTREE_LOST = "WORKTREE_LOST"
    MERGE_CONFLICT = "MERGE_CONFLICT"
    PUSH_REJECTED = "PUSH_REJECTED"
    PUBLISH_FAILED = "PUBLISH_FAILED"
    REMOTE_UNREACHABLE = "REMOTE_UNREACHABLE"
    LFS_UNAVAILABLE = "LFS_UNAVAILABLE"
    # files
    SKILL_NOT_FOUND = "SKILL_NOT_FOUND"
    CONTEXT_NOT_FOUND = "CONTEXT_NOT_FOUND"
    INPUT_NOT_FOUND = "INPUT_NOT_FOUND"
    WORKSPACE_WRITE_FAILED = "WORKSPACE_WRITE_FAILED"
    PATH_ESCAPE = "PATH_ESCAPE"
    DISK_FULL = "DISK_FULL"
    DISK_LIMIT = "DISK_LIMIT"
    # ours
    CONFIG_INVALID = "CONFIG_INVALID"
    USAGE = "USAGE"
    STATE_BUSY = "STATE_BUSY"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    ENGINE_UNAVAILABLE = "ENGINE_UNAVAILABLE"
    STATE_CORRUPT = "STATE_CORRUPT"
    STATE_VERSION = "STATE_VERSION"
    STORAGE_ERROR = "STORAGE_ERROR"
    BLOBS_UNAVAILABLE = "BLOBS_UNAVAILABLE"
    JOURNAL_LOST = "JOURNAL_LOST"
    JOURNAL_IN_USE = "JOURNAL_IN_USE"
    SANDBOX_UNAVAILABLE = "SANDBOX_UNAVAILABLE"
    HELPER_STUCK = "HELPER_STUCK"
    STEP_REPEATS = "STEP_REPEATS"
    UNKNOWN = "UNKNOWN"


class WarningCode(StrEnum):
    """A warning that accompanies a success; never a task's code."""

    RESPONSE_TRUNCATED = "RESPONSE_TRUNCATED"
    NO_MARK = "NO_MARK"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    GATE_INERT = "GATE_INERT"
    CHECKS_WEAKENED = "CHECKS_WEAKENED"
    NO_CHANGES = "NO_CHANGES"
    NETWORK_REFUSED = "NETWORK_REFUSED"
    FILE_REFUSED = "FILE_REFUSED"
    PUSH_REFUSED = "PUSH_REFUSED"
    FILES_LEFT = "FILES_LEFT"
    BRANCH_MOVED = "BRANCH_MOVED"
    REPOSITORY_CHANGED = "REPOSITORY_CHANGED"
    CONFIGURATION_CHANGED = "CONFIGURATION_CHANGED"
    REBUILT = "REBUILT"
    SECRETS_REDACTED = "SECRETS_REDACTED"


class Origin(StrEnum):
    """What caused a failure."""

    AGENT = "agent"  # the agent program, or the work it did
    PROVIDER = "provider"  # the model's provider, or the account there
    HOST = "host"  # this machine, or the journal on it
    PERSON = "person"  # a request, a setting, the repository or a decision
    OURS = "ours"  # a bug in Ostler


class CodeFacts(NamedTuple):
    """What a code means for a caller."""

    retryable: bool
    exit: int
    origin: Origin
    meaning: str
    is_limit: bool = False  # capacity is used up: the same work can continue once there is more


_RETRY, _FINAL = True, False
_AGENT, _PROVIDER, _HOST, _PERSON = Origin.AGENT, Origin.PROVIDER, Origin.HOST, Origin.PERSON
_LIMIT = True
_PERSON_EXIT = 4

CODES: dict[Code, CodeFacts] = {
    Code.AGENT_NOT_FOUND: CodeFacts(
        _FINAL, 1, _PERSON, "the agent's program is not installed on this machine"
    ),
    Code.AGENT_INCOMPATIBLE: CodeFacts(_FINAL, 1, _AGENT, "the agent's version is not supported"),
    Code.SPAWN_FAILED: CodeFacts(_RETRY, 1, _HOST, "the operating system could not start the agent", _LIMIT),
    Code.AGENT_FAILED: CodeFacts(_RETRY, 1, _AGENT, "the agent exited with an error"),
    Code.AGENT_KILLED: CodeFacts(_RETRY, 1, _HOST, "another process killed the agent"),
    Code.AGENT_OOM: CodeFacts(_RETRY, 1, _HOST, "the agent ran out of memory"),
    Code.CRASH_LOOP: CodeFacts(_FINAL, 1, _AGENT, "the agent exits within a second, several times in a row"),
    Code.TIMEOUT: CodeFacts(_RETRY, 1, _AGENT, "the attempt ran longer than its timeout"),
    Code.IDLE_TIMEOUT: CodeFacts(
        _RETRY, 1, _AGENT, "the agent printed nothing for longer than run.idle_timeout_seconds"
    ),
    Code.NEEDS_INPUT: CodeFacts(_FINAL, 4, _AGENT, "the agent asks a question"),
    Code.NO_RESULT: CodeFacts(_RETRY, 1, _AGENT, "the agent's output ended without a result"),
    Code.RESPONSE_EMPTY: CodeFacts(_RETRY, 1, _AGENT, "the agent's answer is empty"),
    Code.SESSION_NOT_FOUND: CodeFacts(_FINAL, 1, _AGENT, "the agent has no session with this id"),
    Code.SESSION_IN_USE: CodeFacts(_FINAL, 1, _AGENT, "the agent reports that the session id is in use"),
    Code.RESUME_UNSUPPORTED: CodeFacts(_FINAL, 1, _AGENT, "this agent cannot resume a session"),
    Code.OUTPUT_LIMIT: CodeFacts(_FINAL, 1, _AGENT, "the agent printed more than the limit"),
    Code.RATE_LIMITED: CodeFacts(_RETRY, 5, _PROVIDER, "the provider's rate limit is reached", _LIMIT),
    Code.QUOTA_EXCEEDED: CodeFacts(
        _FINAL, 5, _PROVIDER, "the account's quota is used up until it resets", _LIMIT
    ),
    Code.BILLING: CodeFacts(_FINAL, 4, _PROVIDER, "the account has no credit or needs payment"),
    Code.OVERLOADED: CodeFacts(_RETRY, 1, _PROVIDER, "the provider is overloaded"),
    Code.AUTH_FAILED: CodeFacts(_FINAL, 4, _PROVIDER, "the agent is not logged in, or its key is refused"),
    Code.MODEL_NOT_FOUND: CodeFacts(_FINAL, 1, _PERSON, "the provider has no model with this name"),
    Code.API_ERROR: CodeFacts(_RETRY, 1, _PROVIDER, "the provider returned an error"),
    Code.NETWORK: CodeFacts(_RETRY, 1, _PROVIDER, "the provider could not be reached"),
    Code.STREAM_BROKEN: CodeFacts(_RETRY, 1, _PROVIDER, "the provider's answer ended early"),
    Code.PROMPT_TOO_LARGE: CodeFacts(_FINAL, 1, _PERSON, "the prompt does not fit into the model's context"),
    Code.REFUSED: CodeFacts(_FINAL, 1, _AGENT, "the model refused the request"),
    Code.MODELS_EXHAUSTED: CodeFacts(_FINAL, 1, _PROVIDER, "every model of the pool was tried or skipped"),
    Code.SLOT_TIMEOUT: CodeFacts(_RETRY, 1, _HOST, "no slot became free in time", _LIMIT),
    Code.TASK_NOT_EXECUTABLE: CodeFacts(_FINAL, 2, _PERSON, "the task's status does not allow a run"),
    Code.CONFLICT: CodeFacts(_RETRY, 1, _PERSON, "another process changed the task first"),
    Code.AGENT_BLOCKED: CodeFacts(_FINAL, 4, _AGENT, "the agent reports that it is blocked"),
    Code.STUCK: CodeFacts(_FINAL, 4, _AGENT, "the same failure occurred three times in a row"),
    Code.ITERATION_LIMIT: CodeFacts(
        _FINAL, 5, _PERSON, "the phase used all of its iterations, or the task all of its steps", _LIMIT
    ),
    Code.GATE_REJECTED: CodeFacts(_FINAL, 4, _AGENT, "a gate rejected the work"),
    Code.GATE_UNRUNNABLE: CodeFacts(_FINAL, 4, _PERSON, "a gate could not run"),
    Code.BUDGET_EXCEEDED: CodeFacts(_FINAL, 5, _PERSON, "the budget is used up", _LIMIT),
    Code.DEPENDENCY_FAILED: CodeFacts(_FINAL, 1, _AGENT, "a task that this one depends on failed"),
    Code.ABORTED: CodeFacts(_FINAL, 1, _PERSON, "a person cancelled the task"),
    Code.INTERRUPTED: CodeFacts(_RETRY, 130, _PERSON, "the run was stopped; the next run resumes the task"),
    Code.GIT_NO_COMMITS: CodeFacts(_FINAL, 2, _PERSON, "the repository has no commit yet"),
    Code.GIT_LOCKED: CodeFacts(_RETRY, 1, _PERSON, "another git process has locked the repository"),
    Code.GIT_CORRUPT: CodeFacts(_FINAL, 1, _PERSON, "the repository is damaged"),
    Code.BRANCH_EXISTS: CodeFacts(_FINAL, 1, _PERSON, "a branch with the task's name already exists"),
    Code.WORKTREE_LOST: CodeFacts(_RETRY, 1, _PERSON, "the task's worktree is missing"),
    Code.MERGE_CONFLICT: CodeFacts(_FINAL, 4, _AGENT, "the work conflicts with its target branch"),
    Code.PUSH_REJECTED: CodeFacts(_RETRY, 1, _PERSON, "the remote rejected the branch"),
    Code.PUBLISH_FAILED: CodeFacts(_RETRY, 1, _PERSON, "the result could not be published"),
    Code.REMOTE_UNREACHABLE: CodeFacts(
        _RETRY, 1, _HOST, "the git remote through which tasks move could not be used for minutes"
    ),
    Code.LFS_UNAVAILABLE: CodeFacts(_FINAL, 1, _PERSON, "a file needs git-lfs, which cannot run"),
    Code.SKILL_NOT_FOUND: CodeFacts(_FINAL, 2, _PERSON, "the skill does not exist"),
    Code.CONTEXT_NOT_FOUND: CodeFacts(_FINAL, 2, _PERSON, "a context file does not exist"),
    Code.INPUT_NOT_FOUND: CodeFacts(_FINAL, 1, _PERSON, "an input file does not exist"),
    Code.WORKSPACE_WRITE_FAILED: CodeFacts(_RETRY, 2, _PERSON, "a file could not be written"),
    Code.PATH_ESCAPE: CodeFacts(_FINAL, 2, _PERSON, "a path is outside its root directory"),
    Code.DISK_FULL: CodeFacts(_RETRY, 1, _HOST, "the disk is full"),
    Code.DISK_LIMIT: CodeFacts(_FINAL, 1, _AGENT, "the agent wrote more to disk than the limit"),
    Code.CONFIG_INVALID: CodeFacts(_FINAL, 2, _PERSON, "the settings are invalid"),
    Code.USAGE: CodeFacts(_FINAL, 2, _PERSON, "the command names something that does not exist"),
    Code.STATE_BUSY: CodeFacts(_RETRY, 1, _HOST, "another process has locked the journal"),
    Code.STORE_UNAVAILABLE: CodeFacts(_RETRY, 1, _HOST, "the database of the journal cannot be used"),
    Code.ENGINE_UNAVAILABLE: CodeFacts(_RETRY, 1, _HOST, "the Temporal server cannot be used"),
    Code.STATE_CORRUPT: CodeFacts(_FINAL, 2, _HOST, "the journal is damaged"),
    Code.STATE_VERSION: CodeFacts(_FINAL, 2, _HOST, "the journal was written by a newer version of Ostler"),
    Code.STORAGE_ERROR: CodeFacts(_FINAL, 1, _HOST, "the disk reported an error"),
    Code.BLOBS_UNAVAILABLE: CodeFacts(
        _RETRY, 1, _HOST, "the store with the files of the tasks ([blobs]) cannot be used"
    ),
    Code.JOURNAL_LOST: CodeFacts(
        _FINAL, 3, _HOST, "the journal was deleted, moved or replaced; nothing is recorded any more"
    ),
    Code.JOURNAL_IN_USE: CodeFacts(
        _RETRY, 3, _HOST, "the journal cannot be moved or rebuilt while another process uses it"
    ),
    Code.SANDBOX_UNAVAILABLE: CodeFacts(
        _FINAL, 2, _PERSON, "the requested sandbox is not available on this machine"
    ),
    Code.HELPER_STUCK: CodeFacts(
        _RETRY, 1, _HOST, "a helper process of Ostler did not respond and was continued or killed"
    ),
    Code.STEP_REPEATS: CodeFacts(_FINAL, 1, _PERSON, "one step of the task failed too often"),
    Code.UNKNOWN: CodeFacts(_FINAL, 3, Origin.OURS, "a bug in Ostler"),
}

SEED_SPELLINGS: dict[str, Code] = {
    "ERR_CLI_NOT_FOUND": Code.AGENT_NOT_FOUND,
    "ERR_PROCESS_SPAWN": Code.SPAWN_FAILED,
    "ERR_RESOURCE_EXHAUSTED": Code.AGENT_OOM,
    "ERR_CLI_EXEC": Code.MODELS_EXHAUSTED,
    "ERR_POOL_SLOT_TIMEOUT": Code.SLOT_TIMEOUT,
    "API_TIMEOUT": Code.TIMEOUT,
    "API_RATE_LIMITED": Code.RATE_LIMITED,
    "API_OVERLOADED": Code.OVERLOADED,
}


def read_code(text: str) -> Code:
    """Return the code with this name or older spelling; UNKNOWN for any other text."""
    return SEED_SPELLINGS.get(text) or Code.__members__.get(text, Code.UNKNOWN)


# A conflict (409) and a request that is too early (425) can succeed later.
_INVALID_REQUEST = frozenset(range(400, 500)) - {409, 425}


def is_invalid_request(code: Code | None, status: int | None) -> bool:
    """Return whether the provider rejected the request itself: a 4xx status without a code of its own."""
    return code is Code.API_ERROR and status in _INVALID_REQUEST


def is_host_failure(code: Code) -> bool:
    """Return whether the machine itself failed, so that no task can continue on it now."""
    facts = CODES[code]
    return facts.origin is Origin.HOST and not facts.is_limit


def is_host_limit(code: Code) -> bool:
    """Return whether the machine lacked the capacity for one more process."""
    facts = CODES[code]
    return facts.origin is Origin.HOST and facts.is_limit


def is_provider_limit(code: Code) -> bool:
    """Return whether a rate limit or quota of the provider was reached."""
    facts = CODES[code]
    return facts.origin is Origin.PROVIDER and facts.is_limit


def needs_account_fix(code: Code | None) -> bool:
    """Return whether the provider refuses every call until a person logs in, or pays."""
    return code is not None and CODES[code].origin is Origin.PROVIDER and CODES[code].exit == _PERSON_EXIT


def is_task_failure(code: Code) -> bool:
    """Return whether a failure counts against its task: not one of the provider or of this machine."""
    return CODES[code].origin not in (Origin.PROVIDER, Origin.HOST)


_LOCATED = re.compile(r"(?P<file>[^\n]*?):(?P<line>\d+): (?P<message>.+)")


class Problem(Struct, frozen=True):
    """Something that a run needs and that is wrong or missing, and where it is."""

    file: str  # a file, a variable or a flag; empty: the request or this machine
    line: int  # 0: the whole file
    key: str  # of the setting; empty: none
    message: str
    severity: Literal["error", "warning"] = "error"

    @property
    def text(self) -> str:
        """The problem on one line: ostler.toml:12: run.jobs: expected int >= 1."""
        location = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(filter(None, (location, self.key, self.message)))


def read_problem(line: str) -> Problem:
    """Return the problem of one line of a message; its file and line are split off."""
    found = _LOCATED.fullmatch(line)
    return (
        Problem(found["file"], int(found["line"]), "", found["message"])
        if found
        else Problem("", 0, "", line)
    )


class OstlerError(Exception):
    """A failure that the caller can handle: a code, a message and a hint."""

    problems: tuple[Problem, ...] = ()  # where an error is a list of problems

    def __init__(self, code: Code, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    @property
    def exit(self) -> int:
        return CODES[self.code].exit


class UsageError(OstlerError):
    """The request names something unknown, or a path that cannot be used."""

    def __init__(self, message: str, hint: str = "", code: Code = Code.USAGE) -> None:
        super().__init__(code, message, hint)


class PreflightFailed(UsageError):
    """A run or a new task is refused before anything is started; one line per problem."""

    def __init__(self, problems: Sequence[Problem], hint: str, code: Code = Code.CONFIG_INVALID) -> None:
        marks = {"error": "", "warning": "warning: "}
        super().__init__("\n".join(marks[one.severity] + one.text for one in problems), hint, code)
        self.problems = tuple(problems)

    @property
    def exit(self) -> int:
        return CODES[Code.USAGE].exit


class SettingsInvalid(OstlerError):
    """The settings are invalid; `mistakes` has one line for each mistake."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        self.mistakes = [one.text for one in problems]
        # No editor of a file corrects a variable or a flag.
        outside = problems and all(one.file.lstrip('"').startswith(("OSTLER_", "-")) for one in problems)
        hint = "correct or unset the variable or flag" if outside else "fix them with: ostler config edit"
        super().__init__(Code.CONFIG_INVALID, "\n".join(self.mistakes), hint)


class StateError(OstlerError):
    """The journal cannot be read or written; nothing in it was changed."""


class SpawnError(OstlerError):
    """The operating system could not start a program; `errno` is its error number."""

    def __init__(self, code: Code, message: str, hint: str, errno: int) -> None:
        super().__init__(code, message, hint)
        self.errno = errno


class GitError(OstlerError):
    """A git command failed; the work so far is kept."""


class PathEscape(OstlerError):
    """A path is outside its root directory."""

    def __init__(self, message: str) -> None:
        super().__init__(Code.PATH_ESCAPE, message, "use a path inside the project")


class AgentUnavailable(OstlerError):
    """The agent's program is missing, or its version is not supported."""

    def __init__(self, message: str, hint: str, code: Code = Code.AGENT_NOT_FOUND) -> None:
        super().__init__(code, message, hint)

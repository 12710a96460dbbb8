"""Every way in which something can end badly, and what each one means for a caller.

    OstlerError                 carries a Code, a sentence, and the next step for the person
    ├── UsageError              the request names something that does not exist or cannot be
    ├── SettingsInvalid         one line per mistake, all at once
    ├── StateError              the journal: busy, corrupt, written by a newer version, unwritable
    ├── SpawnError              the operating system would not start a program
    ├── GitError                git refused; the work is kept
    ├── PathEscape              a path that leaves its root
    ├── AgentUnavailable        the agent's program is missing or too different
    └── llm.failure.ModelError  a model API gave no usable answer

Expected endings of a task are values (model.outcome); these exceptions are for callers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Code(StrEnum):
    """The closed list. Names are added, never renamed."""

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
    STATE_CORRUPT = "STATE_CORRUPT"
    STATE_VERSION = "STATE_VERSION"
    STORAGE_ERROR = "STORAGE_ERROR"
    SANDBOX_UNAVAILABLE = "SANDBOX_UNAVAILABLE"
    UNKNOWN = "UNKNOWN"


class Warn(StrEnum):
    """Said beside a success; never in a task's code."""

    RESPONSE_TRUNCATED = "RESPONSE_TRUNCATED"
    NO_MARK = "NO_MARK"
    PERMISSION_DENIED = "PERMISSION_DENIED"


class CodeFacts(NamedTuple):
    """What a code means to whoever must act on it."""

    retryable: bool
    exit: int
    meaning: str


_RETRY, _FINAL = True, False

CODES: dict[Code, CodeFacts] = {
    Code.AGENT_NOT_FOUND: CodeFacts(_FINAL, 1, "the agent's program is not on this machine"),
    Code.AGENT_INCOMPATIBLE: CodeFacts(_FINAL, 1, "the agent's version speaks another dialect"),
    Code.SPAWN_FAILED: CodeFacts(_RETRY, 1, "the operating system would not start the agent"),
    Code.AGENT_FAILED: CodeFacts(_RETRY, 1, "the agent exited with an error"),
    Code.AGENT_KILLED: CodeFacts(_RETRY, 1, "something else killed the agent"),
    Code.AGENT_OOM: CodeFacts(_RETRY, 1, "the agent ran out of memory"),
    Code.CRASH_LOOP: CodeFacts(_FINAL, 1, "the agent dies within a second, again and again"),
    Code.TIMEOUT: CodeFacts(_RETRY, 1, "the attempt ran longer than run.timeout_seconds"),
    Code.IDLE_TIMEOUT: CodeFacts(_RETRY, 1, "the agent was silent longer than run.idle_timeout_seconds"),
    Code.NEEDS_INPUT: CodeFacts(_FINAL, 4, "the agent asks a person something"),
    Code.NO_RESULT: CodeFacts(_RETRY, 1, "the agent's stream ended without a result"),
    Code.RESPONSE_EMPTY: CodeFacts(_RETRY, 1, "the agent answered nothing"),
    Code.SESSION_NOT_FOUND: CodeFacts(_FINAL, 1, "the agent does not know the session to resume"),
    Code.SESSION_IN_USE: CodeFacts(_FINAL, 1, "the agent says that the session id is taken"),
    Code.RESUME_UNSUPPORTED: CodeFacts(_FINAL, 1, "this agent cannot resume a session"),
    Code.OUTPUT_LIMIT: CodeFacts(_FINAL, 1, "the agent printed more than it may"),
    Code.RATE_LIMITED: CodeFacts(_RETRY, 5, "the provider asks to slow down"),
    Code.QUOTA_EXCEEDED: CodeFacts(_FINAL, 5, "the account's quota is used up for now"),
    Code.BILLING: CodeFacts(_FINAL, 1, "the account must be paid for"),
    Code.OVERLOADED: CodeFacts(_RETRY, 1, "the provider is overloaded"),
    Code.AUTH_FAILED: CodeFacts(_FINAL, 1, "the agent is not logged in, or its key is refused"),
    Code.MODEL_NOT_FOUND: CodeFacts(_FINAL, 1, "the provider does not know this model"),
    Code.API_ERROR: CodeFacts(_RETRY, 1, "the provider failed"),
    Code.NETWORK: CodeFacts(_RETRY, 1, "the provider could not be reached"),
    Code.STREAM_BROKEN: CodeFacts(_RETRY, 1, "the answer broke off"),
    Code.PROMPT_TOO_LARGE: CodeFacts(_FINAL, 1, "the prompt does not fit the model"),
    Code.REFUSED: CodeFacts(_FINAL, 1, "the model declined"),
    Code.MODELS_EXHAUSTED: CodeFacts(_FINAL, 1, "every model of the pool was tried or skipped"),
    Code.SLOT_TIMEOUT: CodeFacts(_RETRY, 1, "no slot came free in time"),
    Code.TASK_NOT_EXECUTABLE: CodeFacts(_FINAL, 2, "the task's status does not allow a run"),
    Code.CONFLICT: CodeFacts(_RETRY, 1, "someone else changed the task first"),
    Code.AGENT_BLOCKED: CodeFacts(_FINAL, 4, "the agent says that it cannot go on"),
    Code.STUCK: CodeFacts(_FINAL, 4, "the same failure came three times in a row"),
    Code.ITERATION_LIMIT: CodeFacts(_FINAL, 5, "the phase used all its iterations"),
    Code.GATE_REJECTED: CodeFacts(_FINAL, 4, "a gate said no"),
    Code.GATE_UNRUNNABLE: CodeFacts(_FINAL, 4, "a gate could not be run"),
    Code.BUDGET_EXCEEDED: CodeFacts(_FINAL, 5, "the money set aside is used up"),
    Code.DEPENDENCY_FAILED: CodeFacts(_FINAL, 1, "a task that this one waits for failed"),
    Code.ABORTED: CodeFacts(_FINAL, 1, "a person cancelled the task"),
    Code.INTERRUPTED: CodeFacts(_RETRY, 130, "the run was stopped; the task goes on next time"),
    Code.GIT_NO_COMMITS: CodeFacts(_FINAL, 2, "the repository has no commit yet"),
    Code.GIT_LOCKED: CodeFacts(_RETRY, 1, "another git process holds the repository"),
    Code.GIT_CORRUPT: CodeFacts(_FINAL, 1, "the repository is damaged"),
    Code.BRANCH_EXISTS: CodeFacts(_FINAL, 1, "the task's branch belongs to someone else"),
    Code.WORKTREE_LOST: CodeFacts(_RETRY, 1, "the task's worktree disappeared"),
    Code.MERGE_CONFLICT: CodeFacts(_FINAL, 4, "the work does not merge cleanly"),
    Code.PUSH_REJECTED: CodeFacts(_RETRY, 1, "the remote refused the branch"),
    Code.PUBLISH_FAILED: CodeFacts(_RETRY, 1, "the result could not be published"),
    Code.LFS_UNAVAILABLE: CodeFacts(_FINAL, 1, "a file needs git-lfs, which cannot run"),
    Code.SKILL_NOT_FOUND: CodeFacts(_FINAL, 2, "no such skill"),
    Code.CONTEXT_NOT_FOUND: CodeFacts(_FINAL, 2, "no such context file"),
    Code.INPUT_NOT_FOUND: CodeFacts(_FINAL, 1, "an input file is missing"),
    Code.WORKSPACE_WRITE_FAILED: CodeFacts(_RETRY, 2, "a file could not be written"),
    Code.PATH_ESCAPE: CodeFacts(_FINAL, 2, "a path leaves its root"),
    Code.DISK_FULL: CodeFacts(_RETRY, 1, "the disk is full"),
    Code.DISK_LIMIT: CodeFacts(_FINAL, 1, "the agent wrote more than it may"),
    Code.CONFIG_INVALID: CodeFacts(_FINAL, 2, "the settings have mistakes"),
    Code.USAGE: CodeFacts(_FINAL, 2, "the command names something that does not exist"),
    Code.STATE_BUSY: CodeFacts(_RETRY, 1, "another process holds the journal"),
    Code.STATE_CORRUPT: CodeFacts(_FINAL, 2, "the journal is damaged"),
    Code.STATE_VERSION: CodeFacts(_FINAL, 2, "the journal is from a newer Ostler"),
    Code.STORAGE_ERROR: CodeFacts(_FINAL, 1, "the disk would not keep what was written"),
    Code.SANDBOX_UNAVAILABLE: CodeFacts(_FINAL, 2, "the sandbox asked for is not there"),
    Code.UNKNOWN: CodeFacts(_FINAL, 3, "a bug of ours"),
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


def read_code(word: str) -> Code:
    """A code from text, the seeds' spellings included; UNKNOWN for one that a newer Ostler may know."""
    return SEED_SPELLINGS.get(word) or Code.__members__.get(word, Code.UNKNOWN)


class OstlerError(Exception):
    """A condition that the caller can act on: a code, a sentence and the next step."""

    def __init__(self, code: Code, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    @property
    def exit(self) -> int:
        return CODES[self.code].exit


class UsageError(OstlerError):
    """The request names something unknown, or a place that cannot be used."""

    def __init__(self, message: str, hint: str = "", code: Code = Code.USAGE) -> None:
        super().__init__(code, message, hint)


class SettingsInvalid(OstlerError):
    """The settings have mistakes; `mistakes` holds one line for each."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__(Code.CONFIG_INVALID, "\n".join(mistakes), "mend them with: ostler config edit")
        self.mistakes = mistakes


class StateError(OstlerError):
    """The journal cannot be read or written; nothing in it was changed."""


class SpawnError(OstlerError):
    """The operating system would not start a program; `errno` says why."""

    def __init__(self, code: Code, message: str, hint: str, errno: int) -> None:
        super().__init__(code, message, hint)
        self.errno = errno


class GitError(OstlerError):
    """Git refused; the work that was done is kept."""


class PathEscape(OstlerError):
    """A path that would leave its root."""

    def __init__(self, message: str) -> None:
        super().__init__(Code.PATH_ESCAPE, message, "use a path inside the project")


class AgentUnavailable(OstlerError):
    """The agent's program is missing, or is not what this adapter knows."""

    def __init__(self, message: str, hint: str, code: Code = Code.AGENT_NOT_FOUND) -> None:
        super().__init__(code, message, hint)

"""The result of one execution of a task, with the names of the seed."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from ostler.errors import Code, OstlerError, WarningCode

ExecutionStatus = Literal["completed", "failed", "deferred"]
"""The seed has the first two. A deferred task is not lost: `ostler run` continues it at `resumes_at`."""

WorkspaceError = OstlerError
"""The seed's name for errors of skills, inputs and outputs; see `code`."""


class ExecutionErrorCode(StrEnum):
    SKILL_NOT_FOUND = "SKILL_NOT_FOUND"
    CONTEXT_NOT_FOUND = "CONTEXT_NOT_FOUND"
    INPUT_NOT_FOUND = "INPUT_NOT_FOUND"
    API_ERROR = "API_ERROR"
    API_RATE_LIMITED = "API_RATE_LIMITED"
    API_OVERLOADED = "API_OVERLOADED"
    API_TIMEOUT = "API_TIMEOUT"
    RESPONSE_EMPTY = "RESPONSE_EMPTY"
    RESPONSE_TRUNCATED = "RESPONSE_TRUNCATED"  # a warning with an otherwise complete result
    WORKSPACE_WRITE_FAILED = "WORKSPACE_WRITE_FAILED"
    TASK_NOT_EXECUTABLE = "TASK_NOT_EXECUTABLE"
    ABORTED = "ABORTED"
    UNKNOWN = "UNKNOWN"


_C, _E = Code, ExecutionErrorCode

# Other codes are UNKNOWN: an execution of a document cannot have them, except for a bug.
_ROWS: dict[ExecutionErrorCode, tuple[Code | WarningCode, ...]] = {
    _E.SKILL_NOT_FOUND: (_C.SKILL_NOT_FOUND,),
    _E.CONTEXT_NOT_FOUND: (_C.CONTEXT_NOT_FOUND,),
    _E.INPUT_NOT_FOUND: (_C.INPUT_NOT_FOUND,),
    _E.API_ERROR: (
        _C.API_ERROR,
        _C.AUTH_FAILED,
        _C.BILLING,
        _C.MODEL_NOT_FOUND,
        _C.MODELS_EXHAUSTED,
        _C.OUTPUT_LIMIT,
        _C.PROMPT_TOO_LARGE,
        _C.REFUSED,
        _C.STREAM_BROKEN,
    ),
    _E.API_RATE_LIMITED: (_C.RATE_LIMITED, _C.QUOTA_EXCEEDED),
    _E.API_OVERLOADED: (_C.OVERLOADED,),
    _E.API_TIMEOUT: (_C.TIMEOUT, _C.IDLE_TIMEOUT, _C.NETWORK),
    _E.RESPONSE_EMPTY: (_C.RESPONSE_EMPTY, _C.NO_RESULT),
    _E.RESPONSE_TRUNCATED: (WarningCode.RESPONSE_TRUNCATED,),
    _E.WORKSPACE_WRITE_FAILED: (
        _C.WORKSPACE_WRITE_FAILED,
        _C.PATH_ESCAPE,
        _C.DISK_FULL,
        _C.STORAGE_ERROR,
        _C.STATE_BUSY,
        _C.STORE_UNAVAILABLE,
        _C.BLOBS_UNAVAILABLE,
        _C.ENGINE_UNAVAILABLE,
        _C.STATE_CORRUPT,
        _C.STATE_VERSION,
        _C.JOURNAL_LOST,
        _C.JOURNAL_IN_USE,
    ),
    _E.TASK_NOT_EXECUTABLE: (
        _C.TASK_NOT_EXECUTABLE,
        _C.CONFLICT,
        _C.BUDGET_EXCEEDED,
        _C.DEPENDENCY_FAILED,
        _C.CONFIG_INVALID,
        _C.SLOT_TIMEOUT,
        _C.USAGE,
    ),
    _E.ABORTED: (_C.ABORTED, _C.INTERRUPTED),
}
_CODES = {code: seed_code for seed_code, codes in _ROWS.items() for code in codes}


def to_execution_code(code: Code | WarningCode | None) -> ExecutionErrorCode:
    """Return the seed's code for one of ours."""
    return _CODES.get(code, _E.UNKNOWN) if code else _E.UNKNOWN


class ExecutionError(Exception):
    """Why an execution failed; `cause` is an OstlerError with our code, or an unexpected exception."""

    def __init__(
        self, message: str, code: ExecutionErrorCode, task_id: str = "", cause: Exception | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = ExecutionErrorCode(code)
        self.task_id = task_id
        self.cause = cause


class TokensUsed(Struct, frozen=True):
    """The tokens of all attempts, including failed ones."""

    input: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output


class ExecutionResult(Struct, frozen=True):
    """The result of an execution, successful or not.

    `error` is set exactly when `status` is not "completed". The seed also put RESPONSE_TRUNCATED there, which
    makes a finished document look like a failure; here it is in `warning`.
    """

    task_id: str
    skill: str
    status: ExecutionStatus
    output_path: str | None = None  # relative to the project; None on failure
    tokens_used: TokensUsed = TokensUsed()
    duration_ms: int = 0
    error: ExecutionError | None = None
    warning: ExecutionError | None = None  # RESPONSE_TRUNCATED: the end of the text is missing
    warnings: tuple[str, ...] = ()  # other warnings
    resumes_at: float | None = None  # deferred: when the limit or the outage may be over


def create_failure(
    task_id: str, skill: str, error: Exception, resumes_at: float | None = None
) -> ExecutionResult:
    """Return the result for an error; with `resumes_at` the task is deferred."""
    known = isinstance(error, OstlerError)
    code = to_execution_code(error.code) if known else ExecutionErrorCode.UNKNOWN
    message = error.message if known else f"{type(error).__name__}: {error}"
    return ExecutionResult(
        task_id,
        skill,
        "failed" if resumes_at is None else "deferred",
        error=ExecutionError(message, code, task_id, cause=error),
        resumes_at=resumes_at,
    )

"""How one execution of a task ended, in the seed's words."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from ostler.errors import Code, OstlerError, Warn

ExecutionStatus = Literal["completed", "failed"]

WorkspaceError = OstlerError
"""The seed's name for what a skill, an input or an output raises; `code` says which."""


class ExecutionErrorCode(StrEnum):
    SKILL_NOT_FOUND = "SKILL_NOT_FOUND"
    CONTEXT_NOT_FOUND = "CONTEXT_NOT_FOUND"
    INPUT_NOT_FOUND = "INPUT_NOT_FOUND"
    API_ERROR = "API_ERROR"
    API_RATE_LIMITED = "API_RATE_LIMITED"
    API_OVERLOADED = "API_OVERLOADED"
    API_TIMEOUT = "API_TIMEOUT"
    RESPONSE_EMPTY = "RESPONSE_EMPTY"
    RESPONSE_TRUNCATED = "RESPONSE_TRUNCATED"  # a warning, beside a result that is complete otherwise
    WORKSPACE_WRITE_FAILED = "WORKSPACE_WRITE_FAILED"
    TASK_NOT_EXECUTABLE = "TASK_NOT_EXECUTABLE"
    ABORTED = "ABORTED"
    UNKNOWN = "UNKNOWN"


_C, _E = Code, ExecutionErrorCode

# What is in no row is UNKNOWN: no execution of a document can end so, or a bug of ours made it.
_ROWS: dict[ExecutionErrorCode, tuple[Code | Warn, ...]] = {
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
    _E.RESPONSE_TRUNCATED: (Warn.RESPONSE_TRUNCATED,),
    _E.WORKSPACE_WRITE_FAILED: (
        _C.WORKSPACE_WRITE_FAILED,
        _C.PATH_ESCAPE,
        _C.DISK_FULL,
        _C.STORAGE_ERROR,
        _C.STATE_BUSY,
        _C.STATE_CORRUPT,
        _C.STATE_VERSION,
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
_SEED = {code: word for word, codes in _ROWS.items() for code in codes}


def seed_code(code: Code | Warn | None) -> ExecutionErrorCode:
    """The one of the thirteen that a code of ours is."""
    return _SEED.get(code, _E.UNKNOWN) if code else _E.UNKNOWN


class ExecutionError(Exception):
    """Why an execution failed; `cause` is an OstlerError with our own code, or what nobody expected."""

    def __init__(
        self, message: str, code: ExecutionErrorCode, task_id: str = "", cause: Exception | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = ExecutionErrorCode(code)
        self.task_id = task_id
        self.cause = cause


class TokensUsed(Struct, frozen=True):
    """Of all attempts, also those that failed."""

    input: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output


class ExecutionResult(Struct, frozen=True):
    """A value, whatever happened.

    `error` is there exactly when `status` is "failed". The seed put RESPONSE_TRUNCATED there, too, so that
    whoever asks only for `error` takes a finished document for a failure; here it is in `warning`.
    """

    task_id: str
    skill: str
    status: ExecutionStatus
    output_path: str | None = None  # below the project; None on failure
    tokens_used: TokensUsed = TokensUsed()
    duration_ms: int = 0
    error: ExecutionError | None = None
    warning: ExecutionError | None = None  # RESPONSE_TRUNCATED: the text is there, but its end is missing
    warnings: tuple[str, ...] = ()  # all else that was noticed, as sentences


def failed(task_id: str, skill: str, error: Exception) -> ExecutionResult:
    """The result that stands for an error."""
    known = isinstance(error, OstlerError)
    code = seed_code(error.code) if known else ExecutionErrorCode.UNKNOWN
    message = error.message if known else f"{type(error).__name__}: {error}"
    return ExecutionResult(
        task_id, skill, "failed", error=ExecutionError(message, code, task_id, cause=error)
    )

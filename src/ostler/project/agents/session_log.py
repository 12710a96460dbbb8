"""The readable log of a session without a task: every turn is appended, with long texts truncated."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self, assert_never

from ostler.clock import Now
from ostler.errors import OstlerError
from ostler.model.call import (
    AccessRefused,
    AgentEvent,
    CallResult,
    LimitReported,
    LineSkipped,
    RetryReported,
    SessionReplaced,
    SessionStarted,
    TextReceived,
    ThinkingReceived,
    TodosReported,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageReported,
    WarningRaised,
    describe_retry,
)
from ostler.model.policy.sandbox import describe_refusal
from ostler.process.transcript import Transcript
from ostler.project.agents.stored_session import AgentSession
from ostler.secrets.redact import redact_text

MAX_OUTPUT_CHARACTERS = 1000  # of the output of a tool
MAX_PROMPT_CHARACTERS = 500
_COLUMNS = 80


class SessionLog:
    """Appends one turn to the log while it runs."""

    def __init__(self, path: Path, session: AgentSession, prompt: str, now: Now) -> None:
        self._file = Transcript(str(path))
        self._is_empty = not path.exists()
        self._write_heading(session, now())
        self._write_block(_indent("> ", truncate(prompt.strip(), MAX_PROMPT_CHARACTERS)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self._write_block(_describe_end(error))
        except OstlerError:
            # The error that ended the turn is more useful than this one.
            return
        finally:
            self._file.close()

    def write_event(self, event: AgentEvent) -> None:
        """Add an event of the agent; usage and lines that are not understood are only in the raw output."""
        if text := _format_event(event):
            # The output of a tool is below its call.
            self._write_block(text, separated=not isinstance(event, ToolReturned))

    def write_result(self, result: CallResult) -> None:
        """Add the end of the turn."""
        ended = "✓ succeeded" if result.code is None else f"✗ {result.code}: {result.message}"
        tokens = f", {result.usage.total} tokens" if result.usage.total else ""
        cost = f", ${result.cost_usd:.4f}" if result.cost_usd else ""
        self._write_block(f"{ended} ({result.duration_seconds:.1f} s{tokens}{cost})")

    def _write_heading(self, session: AgentSession, at: float) -> None:
        when = datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")
        parts = (f"turn {session.turns}", session.executor, session.role, session.model, when)
        heading = "── " + " · ".join(filter(None, parts)) + " "
        self._write_block(heading.ljust(_COLUMNS, "─"))

    def _write_block(self, text: str, *, separated: bool = True) -> None:
        """Write a block, after an empty line if it is separated."""
        before = "\n" if separated and not self._is_empty else ""
        self._is_empty = False
        self._file.write(f"{before}{text}\n".encode("utf-8", "replace"))


def truncate(text: str, most: int) -> str:
    """Return the beginning of a long text, with the number of characters that are left out."""
    if len(text) <= most:
        return text
    # A part of a secret is not recognized any more, so it is redacted before the cut.
    text = redact_text(text)
    return f"{text[:most]}… ({len(text) - most} more characters)"


def _describe_end(error: BaseException) -> str:
    return f"✗ {error.code}: {error.message}" if isinstance(error, OstlerError) else "■ stopped"


def _format_event(event: AgentEvent) -> str:
    match event:
        case TextReceived(text=text):
            return text.strip()
        case ToolUsed(tool=tool, detail=detail):
            return f"→ {tool} {detail}".rstrip()
        case ToolReturned(text=text, failed=failed):
            output = _indent("    ", truncate(text.strip(), MAX_OUTPUT_CHARACTERS))
            return f"✗ failed\n{output}".rstrip() if failed else output
        case ToolDenied(tool=tool, detail=detail):
            return f"✗ {tool} denied: {detail}".rstrip(": ")
        case RetryReported(code=code, delay_seconds=delay):
            return f"… {describe_retry(code, delay)}"
        case SessionReplaced(resumed=resumed):
            how = "exists already and continues" if resumed else "was lost; a new session starts"
            return f"! the session {how}"
        case AccessRefused(kind=kind, target=target, setting=setting):
            return f"✗ {describe_refusal(kind, target, setting)}"
        case WarningRaised(message=message):
            return f"! {message}"
        case SessionStarted() | UsageReported() | LineSkipped() | LimitReported():
            return ""
        case ThinkingReceived() | TodosReported():
            return ""
        case _:
            assert_never(event)


def _indent(mark: str, text: str) -> str:
    return "\n".join(f"{mark}{line}".rstrip() for line in text.splitlines())

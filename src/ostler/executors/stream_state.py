"""Collects what one run of an agent reports: sends events as it reads, and keeps the data for the result."""

from __future__ import annotations

import re

from msgspec import Raw, Struct

from ostler.errors import Code
from ostler.executors.agent_json import EMPTY_OBJECT, to_object
from ostler.model.call import (
    AgentCall,
    LineSkipped,
    OnEvent,
    RetryReported,
    SessionStarted,
    TextReceived,
    ThinkingReceived,
    TodosReported,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageReported,
)
from ostler.model.todo import Todo
from ostler.model.usage import Usage, add_cost
from ostler.text import first_line

# A session id becomes an argument of a command: it must not look like an option or a path.
SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")

# An agent may print millions of lines that are not JSON: only the first ones get an event each.
MAX_SKIPPED_EVENTS = 20


class ReportedFailure(Struct, frozen=True):
    """An error as the agent reported it."""

    text: str
    status: int | None = None  # the HTTP status, if the agent names one
    retry_after_seconds: float | None = None  # if it is a number, and not part of the text


class StreamState:
    """The data of one run: a decoder calls the methods, the evaluation reads the fields."""

    def __init__(self, call: AgentCall, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._usage_before = call.session_usage
        self._denied: set[str] = set()
        self._tool_uses: dict[str, str] = {}
        self._parts: list[str] = []
        self._todos: tuple[Todo, ...] = ()
        self.requested_session_id = call.session_id  # the session that it was started with
        self.session_id = ""  # as the agent reports it
        self.model = ""
        self.text = ""  # of the last message
        self.usage = Usage()
        self.session_usage: Usage | None = None  # for an agent that counts for the whole session
        self.cost_usd: float | None = None
        self.failure: ReportedFailure | None = None
        self.retry: RetryReported | None = None  # set while the agent is waiting for its provider
        self.retry_text = ""  # the error that the last retry follows
        self.finished = False  # the agent reported the end of its turn
        self.truncated = False
        self.skipped_lines = 0

    @property
    def denied(self) -> bool:
        """Whether any tool was denied."""
        return bool(self._denied)

    def start_session(self, session_id: str, model: str = "", version: str = "") -> None:
        """Record the session id; the first one sends an event."""
        first = not self.session_id
        self.model = model or self.model
        if SESSION_ID.fullmatch(session_id):
            self.session_id = session_id
        if first and self.session_id:
            self._on_event(SessionStarted(self.session_id, self.model, version))

    def add_message(self, text: str) -> None:
        """Record a whole message; the last one is the answer."""
        self._parts.clear()
        self.text = text
        self.retry = None
        if text.strip():
            self._on_event(TextReceived(text))

    def add_text(self, part: str) -> None:
        """Record a part of a message; the event follows when the message ends."""
        self._parts.append(part)

    def end_message(self) -> None:
        """Record the parts so far as one message."""
        if self._parts:
            self.add_message("".join(self._parts))

    def add_thinking(self, text: str) -> None:
        """Record what the model thought; it is no part of the answer."""
        self.end_message()
        if text.strip():
            self._on_event(ThinkingReceived(text))

    def set_todos(self, todos: tuple[Todo, ...]) -> None:
        """Record the todo list; an event is sent only when it has changed."""
        if todos and todos != self._todos:
            self._todos = todos
            self._on_event(TodosReported(todos))

    def add_tool_use(self, tool: str, detail: str = "", use_id: str = "", input: Raw = EMPTY_OBJECT) -> None:
        """Record that a tool is used; `use_id` is the agent's own id of this use."""
        self.end_message()
        self.retry = None
        self._tool_uses[use_id] = tool
        self._on_event(ToolUsed(tool, first_line(detail), use_id, to_object(input)))

    def has_tool_use(self, use_id: str) -> bool:
        """Return whether this use of a tool is recorded."""
        return use_id in self._tool_uses

    def add_tool_result(self, use_id: str, text: str, *, failed: bool = False) -> None:
        """Record what a tool returned."""
        self._on_event(ToolReturned(use_id, text, failed))

    def deny_tool(self, use_id: str, detail: str = "", tool: str = "") -> None:
        """Record that a tool was denied; each use sends one event."""
        if use_id not in self._denied:
            self._denied.add(use_id)
            self._on_event(ToolDenied(tool or self._tool_uses.get(use_id, ""), first_line(detail)))

    def add_usage(self, usage: Usage) -> None:
        """Add tokens to those of this run."""
        self.usage += usage
        self._on_event(UsageReported(usage))

    def set_session_usage(self, total: Usage) -> None:
        """Record the tokens of the whole session; the difference to the last run is this run's usage."""
        self.session_usage = total
        self.add_usage(total.since(self._usage_before))

    def add_cost(self, cost_usd: float) -> None:
        """Add to the cost of this run."""
        self.cost_usd = add_cost(self.cost_usd, cost_usd)

    def report_retry(self, code: Code, seconds: float = 0.0, text: str = "") -> None:
        """Record that the agent retries the request to its provider by itself.

        Some agents report a retry twice, and only one of the reports has the wait: it is kept.
        """
        known = self.retry.delay_seconds if self.retry and self.retry.code is code else 0.0
        self.retry, self.retry_text = RetryReported(code, seconds or known), text
        self._on_event(self.retry)

    def fail(self, text: str, status: int | None = None, retry_after_seconds: float | None = None) -> None:
        """Record an error; the evaluation finds its code."""
        self.failure = ReportedFailure(text, status, retry_after_seconds)

    def finish(self, *, succeeded: bool = False) -> bool:
        """Record the end of the turn and return True; a success discards the errors before it."""
        self.end_message()
        self.finished = True
        self.failure = None if succeeded else self.failure
        return True

    def skip_line(self, line: bytes) -> None:
        """Record a line that this agent is not expected to print."""
        if line.strip():
            self.skipped_lines += 1
        if line.strip() and self.skipped_lines <= MAX_SKIPPED_EVENTS:
            self._on_event(LineSkipped(first_line(line[:400].decode("utf-8", "replace"))))

    def close(self, long_lines: int = 0) -> None:
        """Send the last message, and the number of lines that were skipped without an event."""
        self.end_message()
        report_skipped_lines(self._on_event, self.skipped_lines, long_lines)


def report_skipped_lines(on_event: OnEvent, skipped: int, long_lines: int) -> None:
    """Send the number of lines that were too long, and of those that were skipped without an event."""
    if long_lines:
        on_event(LineSkipped(f"lines over the limit of 16 MiB: {long_lines}; the transcript has them"))
    if skipped > MAX_SKIPPED_EVENTS:
        on_event(LineSkipped(f"and {skipped - MAX_SKIPPED_EVENTS} more lines that are not JSON"))

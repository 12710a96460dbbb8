"""Hears one run of claude, line by line: what the caller is told, and what its ending is judged by."""

from __future__ import annotations

import re

from ostler.executors import claude_wire as wire
from ostler.executors.claude_codes import code_of_retry
from ostler.executors.tool_input import summary_of
from ostler.executors.wire import one_line, read
from ostler.model.call import (
    LineUnread,
    OnEvent,
    RetrySeen,
    SessionStarted,
    TextSaid,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageSeen,
)
from ostler.model.usage import Usage

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")  # it becomes an argument: never an option or a path
_ANSWERING = "StructuredOutput"  # the tool by which claude lets the model answer to a schema
_TOLD = 20  # unread lines told one by one; an agent may print millions


class ClaudeStream:
    """A sink for claude's stream-json; afterwards its fields are the evidence."""

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._counted = Usage()  # by the results so far: each one counts since the one before
        self._usages: dict[str, Usage] = {}  # by the messages since then
        self._denials: set[str] = set()
        self._answers: set[str] = set()  # uses of the answering tool: nobody is told what it returns
        self.session_id = ""
        self.model = ""
        self.version = ""
        self.result: wire.Result | None = None  # the last one: there may be several
        self.error_word = ""  # the kind of API error that claude named last
        self.retry: RetrySeen | None = None  # set while claude waits for its provider
        self.waited = False  # claude had waited so before its last message
        self.unread = 0

    def take(self, line: bytes) -> bool:
        """Read one line; True when it is a result."""
        head = read(wire.LINE, line)
        if head is None:
            self._count_unread(line)
        elif head.type == "assistant":
            self._hear_assistant(head)
        elif head.type == "user":
            self._hear_returns(head)
        elif head.type == "result":
            return self._hear_result(line)
        elif head.type == "system":
            self._hear_system(head.subtype, line)
        return False

    @property
    def usage(self) -> Usage:
        """What the results counted, and what the messages after the last one had reported."""
        return sum(self._usages.values(), self._counted)

    @property
    def denied(self) -> bool:
        return bool(self._denials)

    def close(self, long_lines: int = 0) -> None:
        """Tell how many lines were counted without being told one by one."""
        if long_lines:
            self._on_event(
                LineUnread(f"lines over the limit of 16 MiB: {long_lines}; the transcript has them")
            )
        if self.unread > _TOLD:
            self._on_event(LineUnread(f"and {self.unread - _TOLD} more lines that are not JSON"))

    def _hear_assistant(self, head: wire.Line) -> None:
        self.waited, self.retry = self.retry is not None, None
        self.error_word = head.api_error or head.error or ""
        message = read(wire.MESSAGE, head.message)
        if message is None:
            return self._count_unread(bytes(head.message))
        if message.usage is not None:
            self._usages[message.id] = message.usage.usage()
        return self._hear_content(message.content)

    def _hear_content(self, content: list[wire.Block] | str) -> None:
        blocks = [wire.Block("text", content)] if isinstance(content, str) else content
        for block in blocks:
            if block.type == "text":
                self._on_event(TextSaid(block.text))
            elif block.type == "tool_use" and block.name == _ANSWERING:
                self._answers.add(block.id)
                self._on_event(TextSaid(bytes(block.input).decode("utf-8", "replace")))
            elif block.type == "tool_use":
                given = block.input.copy()  # so that whoever keeps it does not keep the line
                self._on_event(ToolUsed(block.name, summary_of(given), block.id, given))

    def _hear_returns(self, head: wire.Line) -> None:
        said = read(wire.RETURNS, head.message) or wire.Returns()
        for block in said.blocks:
            if block.type == "tool_result" and block.tool_use_id not in self._answers:
                self._on_event(ToolReturned(block.tool_use_id, block.text, block.is_error is True))

    def _hear_system(self, subtype: str, line: bytes) -> None:
        body = read(wire.SYSTEM, line) or wire.System()
        match subtype:
            case "init":
                self._hear_init(body)
            case "api_retry":
                self._hear_retry(body)
            case "permission_denied":
                self._deny(body.tool_use_id, body.tool_name, body.message)
            case "model_fallback":
                self.model = body.fallback_model or self.model
            case _:
                pass  # status, informational, background tasks: in the transcript

    def _hear_init(self, body: wire.System) -> None:
        first = not self.session_id
        self._name_session(body.session_id)
        self.model, self.version = body.model, body.claude_code_version
        if first:
            self._on_event(SessionStarted(self.session_id, self.model, self.version))

    def _hear_retry(self, body: wire.System) -> None:
        code = code_of_retry(body.error or "", body.error_status)
        self.retry = RetrySeen(code, body.retry_delay_ms / 1000)
        self._on_event(self.retry)

    def _hear_result(self, line: bytes) -> bool:
        self.result = read(wire.RESULT, line) or wire.Result()
        used = self.result.usage.usage()
        self._counted += used
        self._usages.clear()
        self._name_session(self.result.session_id)
        for denial in self.result.permission_denials:
            self._deny(denial.tool_use_id, denial.tool_name, summary_of(denial.tool_input))
        self._on_event(UsageSeen(used))
        return True

    def _name_session(self, reported: str) -> None:
        if _SESSION.fullmatch(reported):
            self.session_id = reported

    def _deny(self, use: str, tool: str, detail: str) -> None:
        if use not in self._denials:
            self._denials.add(use)
            self._on_event(ToolDenied(tool, one_line(detail)))

    def _count_unread(self, line: bytes) -> None:
        if not line.strip():
            return
        self.unread += 1
        if self.unread <= _TOLD:
            self._on_event(LineUnread(one_line(line[:400].decode("utf-8", "replace"))))

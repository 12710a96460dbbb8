"""Qwen Code, headless: `qwen --output-format stream-json`, the prompt on stdin.

Its stream is claude's, and so is the decoder. Its endings are not: version 0.15 reports an API error as a
success whose text is `[API Error: ...]`, and its tokens are those of the whole session.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from ostler.errors import Code
from ostler.executors import known
from ostler.executors.claude_verdict import ClaudeListener
from ostler.executors.failure import Words, code_of_failure, retry_after
from ostler.executors.program import Defaults, Dialect, ProgramExecutor, Start
from ostler.executors.protocol import Capabilities
from ostler.executors.wire import one_line
from ostler.model.call import AgentCall, AgentEvent, CallResult, OnEvent, Permissions, UsageSeen
from ostler.model.command import Exit
from ostler.model.usage import Usage

CAPABILITIES = Capabilities(
    resumes=True,
    takes_our_id=True,
    reports_usage=True,
    environment=("QWEN_*", "OPENAI_*", "DASHSCOPE_*", "BAILIAN_*", "OPENROUTER_API_KEY"),
)

SWITCHES = {"QWEN_TELEMETRY_ENABLED": "false"}

# Without it a limit is waited for ten times a minute or more; the worker owns the retries.
DEFAULTS = Defaults(
    "QWEN_CODE_SYSTEM_DEFAULTS_PATH",
    b"""{
  "$version": 4,
  "general": {"enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false},
  "model": {"generationConfig": {"maxRetries": 0}}
}
""",
)

_PERMISSIONS: dict[Permissions, str] = {"ask": "default", "accept-edits": "auto-edit", "skip": "yolo"}

_WORDS: Words = {
    r"no saved session found": Code.SESSION_NOT_FOUND,
    r"stream ended with empty response": Code.RESPONSE_EMPTY,
}
_ERROR_LINE = re.compile(r"\[API Error: .*\]", re.DOTALL)


def arguments(start: Start) -> tuple[str, ...]:
    return (
        *("--output-format", "stream-json"),
        *("--approval-mode", _PERMISSIONS[start.permissions]),
        *(("--model", start.model) if start.model else ()),
        *(("--resume" if start.resume else "--session-id", start.session_id) if start.session_id else ()),
    )


class QwenListener:
    """Hears qwen as claude is heard, and believes neither every success nor every count."""

    def __init__(self, call: AgentCall, on_event: OnEvent) -> None:
        self._before = call.session_usage
        self._on_event = on_event
        self._total: Usage | None = None  # of the session: qwen counts on where it left off
        self._heard = ClaudeListener(call, self._tell, "qwen")

    def take(self, line: bytes) -> bool:
        """Read one line; True when it is a result."""
        return self._heard.take(line)

    def judge(self, exit: Exit) -> CallResult:
        """Everything that the run said and how it exited, as a CallResult."""
        result = self._heard.judge(exit)
        used = _fresh(result.usage) if self._total is None else self._total.since(self._before)
        result = replace(result, usage=used, session_usage=self._total)
        if result.ok and _ERROR_LINE.fullmatch(result.text.strip()):
            return _failed(result, result.text, Code.API_ERROR)
        if result.code is Code.AGENT_FAILED:
            return _failed(result, exit.stderr_tail or result.message, Code.AGENT_FAILED)
        return result

    def _tell(self, event: AgentEvent) -> None:
        if isinstance(event, UsageSeen):
            self._total = _fresh(event.usage)
            event = UsageSeen(self._total.since(self._before))
        self._on_event(event)


def _fresh(usage: Usage) -> Usage:
    """Unlike claude, qwen counts what came from the cache as input too; we count each token once."""
    return replace(usage, input_tokens=max(0, usage.input_tokens - usage.cache_read_tokens))


def _failed(result: CallResult, said: str, otherwise: Code) -> CallResult:
    return replace(
        result,
        code=code_of_failure(said, own=_WORDS) or otherwise,
        message=result.message or f"qwen failed: {one_line(said)}",
        text="",
        retry_after_seconds=retry_after(said),
    )


class QwenExecutor(ProgramExecutor):
    """Runs qwen."""

    dialect = Dialect(known.QWEN, CAPABILITIES, arguments, QwenListener, SWITCHES, defaults=DEFAULTS)

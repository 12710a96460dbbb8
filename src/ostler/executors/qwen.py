"""Qwen Code, headless: `qwen --output-format stream-json`, the prompt on stdin.

Its stream is claude's, and so is the decoder. Its endings are not: version 0.15 reports an API error as a
success whose text is `[API Error: ...]`.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from msgspec.structs import replace

from ostler.errors import Code
from ostler.executors import known
from ostler.executors.claude_stream import ClaudeStream
from ostler.executors.claude_verdict import judge
from ostler.executors.failure import Words, code_of_failure, retry_after
from ostler.executors.program import Dialect, ProgramExecutor, Start
from ostler.executors.protocol import Capabilities
from ostler.executors.wire import one_line
from ostler.model.call import AgentCall, CallResult, OnEvent, Permissions
from ostler.model.command import Exit

CAPABILITIES = Capabilities(
    resumes=True,
    takes_our_id=True,
    reports_usage=True,
    environment=("QWEN_*", "OPENAI_*", "DASHSCOPE_*", "BAILIAN_*", "OPENROUTER_API_KEY"),
)

# The lowest of its settings files: what a person or an administrator has set wins over ours.
SWITCHES = {
    "QWEN_CODE_SYSTEM_DEFAULTS_PATH": str(Path(__file__).with_name("qwen_defaults.json")),
    "QWEN_TELEMETRY_ENABLED": "false",
}

_PERMISSIONS: dict[Permissions, str] = {"ask": "default", "accept-edits": "auto-edit", "skip": "yolo"}

_WORDS: Words = {r"no saved session found": Code.SESSION_NOT_FOUND}
_ERROR_LINE = re.compile(r"\[API Error: .*\]", re.DOTALL)


def arguments(start: Start) -> tuple[str, ...]:
    return (
        *("--output-format", "stream-json"),
        *("--approval-mode", _PERMISSIONS[start.permissions]),
        *(("--model", start.model) if start.model else ()),
        *(("--resume" if start.resume else "--session-id", start.session_id) if start.session_id else ()),
    )


class QwenListener:
    """Hears qwen as claude is heard, and does not believe every success."""

    def __init__(self, call: AgentCall, on_event: OnEvent) -> None:
        self._call = call
        self._heard = ClaudeStream(on_event)

    def take(self, line: bytes) -> bool:
        """Read one line; True when it is a result."""
        return self._heard.take(line)

    def judge(self, exit: Exit) -> CallResult:
        """Everything that the run said and how it exited, as a CallResult."""
        self._heard.close(exit.long_lines)
        result = judge(self._call, self._heard, exit, time.time, "qwen")
        if result.ok and _ERROR_LINE.fullmatch(result.text.strip()):
            return _failed(result, result.text, Code.API_ERROR)
        if result.code is Code.AGENT_FAILED:
            return _failed(result, exit.stderr_tail or result.message, Code.AGENT_FAILED)
        return result


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

    dialect = Dialect(known.QWEN, CAPABILITIES, arguments, QwenListener, SWITCHES)

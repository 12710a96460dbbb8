"""Qwen Code, headless: `qwen --output-format stream-json`, with the prompt on stdin.

Its output has the format of claude and is read by the same reader, with two differences: version 0.15 reports
an API error as a success with the text `[API Error: ...]`, and it counts the tokens of the whole session.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from ostler.errors import Code
from ostler.executors.claude.evaluate import ClaudeReader
from ostler.executors.discover import QWEN
from ostler.executors.failures import FailureTable, classify_failure, text_rules
from ostler.executors.limits.reading import add_limits
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.program.spec import AgentSpec, DefaultSettings, LaunchOptions
from ostler.executors.protocol import Capabilities
from ostler.executors.sandboxed.others import QWEN_NEEDS
from ostler.model.call import AgentCall, AgentEvent, CallResult, OnEvent, Permissions, UsageReported
from ostler.model.command import Exit
from ostler.model.usage import Usage
from ostler.text import first_line

CAPABILITIES = Capabilities(
    resumes=True,
    accepts_session_id=True,
    reports_usage=True,
    environment=("QWEN_*", "OPENAI_*", "DASHSCOPE_*", "BAILIAN_*", "OPENROUTER_API_KEY"),
)

DEFAULT_ENV = {"QWEN_TELEMETRY_ENABLED": "false"}

# Ostler does the retries: qwen itself would wait for a rate limit ten times, a minute or more each.
DEFAULT_SETTINGS = DefaultSettings(
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

QWEN_FAILURES = FailureTable(
    text_rules(
        {
            r"no saved session found": Code.SESSION_NOT_FOUND,
            r"stream ended with empty response": Code.RESPONSE_EMPTY,
        }
    )
)
# A second line may follow: "Possible quota limitations in place or slow response times detected. ..."
_ERROR_ANSWER = re.compile(r"\[API Error: .*?\](\n.{0,300})?", re.DOTALL)
_MAX_ERROR_ANSWER = 2000


def arguments(options: LaunchOptions) -> tuple[str, ...]:
    """Return the arguments of one options."""
    return (
        *("--output-format", "stream-json"),
        *("--approval-mode", _PERMISSIONS[options.permissions]),
        *(("--model", options.model) if options.model else ()),
        *(
            ("--resume" if options.resume else "--session-id", options.session_id)
            if options.session_id
            else ()
        ),
    )


class QwenReader:
    """Reads the output with the reader of claude, then corrects the result and the usage."""

    def __init__(self, call: AgentCall, on_event: OnEvent) -> None:
        self._usage_before = call.session_usage
        self._on_event = on_event
        self._session_usage: Usage | None = None
        self._reader = ClaudeReader(call, self._forward, "qwen", counts_messages=False)

    def read_line(self, line: bytes) -> bool:
        """Read one line; return True when it is a result."""
        return self._reader.read_line(line)

    def read_error_line(self, line: bytes) -> None:
        """Read one line of the error output."""
        self._reader.read_error_line(line)

    def evaluate(self, exit: Exit) -> CallResult:
        """Return the result of the run."""
        result = self._reader.evaluate(exit)
        used = (
            _uncached(result.usage)
            if self._session_usage is None
            else self._session_usage.since(self._usage_before)
        )
        result = replace(result, usage=used, session_usage=self._session_usage)
        if result.ok and _is_error_answer(result.text.strip()):
            return _as_failure(result, result.text, Code.API_ERROR)
        if result.code is Code.AGENT_FAILED:
            return _as_failure(result, exit.stderr_tail or result.message, Code.AGENT_FAILED)
        return result

    def _forward(self, event: AgentEvent) -> None:
        if isinstance(event, UsageReported):
            self._session_usage = _uncached(event.usage)
            event = UsageReported(self._session_usage.since(self._usage_before))
        self._on_event(event)


def _uncached(usage: Usage) -> Usage:
    # Unlike claude, qwen counts tokens from the cache as input, too.
    return replace(usage, input_tokens=max(0, usage.input_tokens - usage.cache_read_tokens))


def _is_error_answer(text: str) -> bool:
    return len(text) <= _MAX_ERROR_ANSWER and _ERROR_ANSWER.fullmatch(text) is not None


def _as_failure(result: CallResult, text: str, default: Code) -> CallResult:
    failed = replace(
        result,
        code=classify_failure(text, table=QWEN_FAILURES) or default,
        message=result.message or f"qwen failed: {first_line(text)}",
        text="",
    )
    return add_limits(failed, text)


class QwenExecutor(ProgramExecutor):
    """Runs qwen."""

    spec = AgentSpec(
        QWEN,
        CAPABILITIES,
        arguments,
        QwenReader,
        DEFAULT_ENV,
        default_settings=DEFAULT_SETTINGS,
        sandbox=QWEN_NEEDS,
    )

"""The readable page of one attempt: its prompt, its response, and what the call meant for its phase."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import assert_never

from ostler.model.attempt import Attempt
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
from ostler.model.event import CallEnded
from ostler.model.policy.sandbox import describe_refusal
from ostler.process.transcript import Transcript
from ostler.secrets.redact import redact_text

_RESPONSE = "\n## Response\n\n"
_VERDICT = re.compile(rb"^Complete: (yes|no)\nBlocked: .*\n\Z", re.MULTILINE)
_UNSHOWN = (ToolReturned, UsageReported)  # most events
_LONGEST_VERDICT = 8192  # bytes


class AttemptPage:
    """Writes the page while the attempt runs; `write_verdict` completes it when the call is evaluated."""

    def __init__(self, path: Path, attempt: Attempt, prompt: str) -> None:
        self._file = Transcript(str(path))
        self._follows_line = False
        title = f"# {attempt.phase}, attempt {attempt.number}\n\n"
        self._write(f"{title}## Prompt\n\n{_quote(prompt)}{_RESPONSE}")

    def write_events(self, events: Iterable[AgentEvent]) -> None:
        """Add events of the agent in one write."""
        self._write("".join(self._format(event) for event in events if not isinstance(event, _UNSHOWN)))

    def _format(self, event: AgentEvent) -> str:
        text = _format_event(event)
        is_line = isinstance(event, TextReceived) and event.is_line
        end = self._end_lines(is_line or not text)
        self._follows_line = self._follows_line or is_line
        return end + text

    def write_prompt(self, prompt: str) -> None:
        """Add the prompt of the session that replaces a lost one."""
        self._write(f"{_quote(prompt)}\n")

    def write_result(self, result: CallResult) -> None:
        ended = "succeeded" if result.ok else f"{result.code}: {result.message}"
        tokens = f"{result.usage.input_tokens} tokens in, {result.usage.output_tokens} out"
        self._write(f"{self._end_lines()}{ended} ({result.duration_seconds:.1f} s, {tokens})\n")

    def write_interruption(self, text: str) -> None:
        self._write(f"{self._end_lines()}{text}\n")

    def close(self) -> None:
        self._file.close()

    def _end_lines(self, continues: bool = False) -> str:
        """Return what separates the following text from the lines of a program's output."""
        if continues or not self._follows_line:
            return ""
        self._follows_line = False
        return "\n"

    def _write(self, text: str) -> None:
        if text:
            self._file.write(text.encode("utf-8", "replace"))


def write_verdict(page: Path, ended: CallEnded) -> None:
    """Add whether the call completed or blocked its phase, once; a deleted page stays deleted."""
    if not page.exists() or _VERDICT.search(_read_end(page)):
        return
    with closing(Transcript(str(page))) as file:
        file.write(_format_verdict(ended).encode("utf-8", "replace"))


def find_page(answer: Path) -> Path:
    """Return the page of the attempt that gave this answer."""
    return answer.with_name(f"{answer.name.removesuffix('.answer.md')}.md")


def read_response(page: str) -> str:
    """Return the part of a page that is not its prompt; a page of an older version has none."""
    _, found, response = page.partition(_RESPONSE)
    return response if found else page


def _format_verdict(ended: CallEnded) -> str:
    reason = " ".join(redact_text(ended.message).split())
    blocked = f"yes, {reason or 'without a reason'}" if ended.verdict == "blocked" else "no"
    return f"\nComplete: {'yes' if ended.verdict == 'complete' else 'no'}\nBlocked: {blocked}\n"


def _read_end(page: Path) -> bytes:
    with page.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST_VERDICT))
        return file.read()


def _quote(prompt: str) -> str:
    """Return the prompt as a quotation, so that no line of it is a heading of the page."""
    lines = redact_text(prompt).splitlines()
    return "".join(f"> {line}".rstrip() + "\n" for line in lines)


def _format_event(event: AgentEvent) -> str:
    match event:
        case TextReceived(text=text, is_line=True):
            return f"{text.rstrip()}\n"
        case TextReceived(text=text):
            return f"{text.strip()}\n\n"
        case ToolUsed(tool=tool, detail=detail):
            return f"- {tool} {detail}".rstrip() + "\n\n"
        case ToolDenied(tool=tool, detail=detail):
            return f"- {tool} denied {detail}".rstrip() + "\n\n"
        case RetryReported(code=code, delay_seconds=delay):
            return f"- the agent {describe_retry(code, delay)}\n\n"
        case SessionReplaced(resumed=resumed):
            how = "existed already and is resumed" if resumed else "was lost; a new one starts"
            return f"- the session {how}\n\n"
        case WarningRaised(message=message):
            return f"- {message}\n\n"
        case AccessRefused(kind=kind, target=target, setting=setting):
            return f"- {describe_refusal(kind, target, setting)}\n\n"
        case SessionStarted() | ToolReturned() | UsageReported() | LineSkipped() | LimitReported():
            return ""
        case ThinkingReceived() | TodosReported():
            return ""
        case _:
            assert_never(event)

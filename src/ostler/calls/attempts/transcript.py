"""The files of one attempt: its prompt, raw output, log, readable page and answer."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self, assert_never

from msgspec.structs import replace

from ostler.calls.attempts.log import AttemptLog
from ostler.calls.prompts import PROMPTS, write_current
from ostler.clock import Now
from ostler.errors import Code, OstlerError
from ostler.files.atomic import make_private_dir, remake_private_dir, write_projection
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
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageReported,
    WarningRaised,
    describe_retry,
)
from ostler.model.sandbox import describe_refusal
from ostler.process.transcript import Transcript
from ostler.prompt.answer import extract_text
from ostler.secrets.redact import redact_bytes, redact_text

_INTERRUPTED = "stopped before it was done"


class AttemptFiles:
    """Writes the files of one attempt below the task's directory while the attempt runs."""

    def __init__(
        self,
        task_dir: Path,
        attempt: Attempt,
        prompt: str,
        now: Now,
        system: str = "",
        structured: bool = False,
    ) -> None:
        name = f"{attempt.phase}-{attempt.number:03d}"
        self._structured = structured
        for folder in (PROMPTS, "transcripts"):
            make_private_dir(task_dir / folder)
        self._task_dir = task_dir
        self._prompt_path = task_dir / PROMPTS / f"{name}.md"
        self.replace_prompt(prompt)
        if system:
            clean = redact_bytes(system.encode("utf-8", "replace"))
            write_projection(task_dir / PROMPTS / f"{name}.system.md", clean)
        self.transcript = task_dir / "transcripts" / f"{name}.jsonl"
        self.answer = f"transcripts/{name}.answer.md"
        self._answer_path = task_dir / self.answer
        self._log = AttemptLog(task_dir / "transcripts" / f"{name}.log.ndjson", attempt, now)
        self._page = Transcript(str(task_dir / "transcripts" / f"{name}.md"))
        self._write(f"# {attempt.phase}, attempt {attempt.number}\n\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self._write_interruption(error)
        except OstlerError:
            # The error that ended the attempt is more useful than this one.
            return
        finally:
            with closing(self._log):
                self._page.close()

    def replace_prompt(self, prompt: str) -> None:
        """Write the prompt that the agent received: another one if its session was lost."""
        self.prompt = prompt
        write_projection(self._prompt_path, redact_bytes(prompt.encode()))
        write_current(self._task_dir, prompt)

    def write_event(self, event: AgentEvent) -> None:
        """Add an event of the agent to the log and to the readable page."""
        if isinstance(event, TextReceived):
            event = replace(event, text=extract_text(event.text) if self._structured else event.text)
        self._log.write_event(event)
        if line := _format_event(event):
            self._write(line)

    def write_result(self, result: CallResult, cost_usd: float | None) -> None:
        # Somebody may have deleted the directory during the call, and the answer was paid for.
        remake_private_dir(self._answer_path.parent, self._task_dir.parent.parent)
        write_answer(self._answer_path, result.text, structured=self._structured)
        ended = "succeeded" if result.ok else f"{result.code}: {result.message}"
        tokens = f"{result.usage.input_tokens} tokens in, {result.usage.output_tokens} out"
        self._write(f"{ended} ({result.duration_seconds:.1f} s, {tokens})\n\n")
        self._log.write_end(result, cost_usd)

    def _write_interruption(self, error: BaseException) -> None:
        self._write(f"{_INTERRUPTED}\n\n")
        if isinstance(error, OstlerError):
            self._log.write_interruption(error.code, error.message)
        else:
            self._log.write_interruption(Code.INTERRUPTED, _INTERRUPTED)

    def _write(self, text: str) -> None:
        self._page.write(text.encode("utf-8", "replace"))


def write_answer(path: Path, text: str, *, structured: bool) -> None:
    """Write the final text of an agent, without secrets; an answer in a format becomes plain text."""
    answer = redact_text(extract_text(text) if structured else text)
    write_projection(path, answer.encode("utf-8", "replace"))


def _format_event(event: AgentEvent) -> str:
    match event:
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
        case _:
            assert_never(event)

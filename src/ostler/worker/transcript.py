"""The papers of one attempt: the exact prompt, the raw bytes, and its story, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self, assert_never

from msgspec.structs import replace

from ostler.clock import Now
from ostler.errors import Code, OstlerError
from ostler.files.atomic import make_private_dir, write_projection
from ostler.model.attempt import Attempt
from ostler.model.call import (
    AgentEvent,
    CallResult,
    LineUnread,
    RetrySeen,
    SessionReplaced,
    SessionStarted,
    TextSaid,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageSeen,
    Warned,
)
from ostler.process.transcript import Transcript
from ostler.prompt.answer import words_of
from ostler.worker.prompt_papers import PROMPTS, write_current
from ostler.worker.story import Story


class Papers:
    """Files of one attempt below the task's directory; open while the attempt runs."""

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
        self._words: Callable[[str], str] = words_of if structured else str
        for folder in (PROMPTS, "transcripts"):
            make_private_dir(task_dir / folder)
        self._task_dir = task_dir
        self._prompt = task_dir / PROMPTS / f"{name}.md"
        self.replace_prompt(prompt)
        if system:
            write_projection(task_dir / PROMPTS / f"{name}.system.md", system.encode("utf-8", "replace"))
        self.transcript = task_dir / "transcripts" / f"{name}.jsonl"
        self.answer = f"transcripts/{name}.answer.md"
        self._answer = task_dir / self.answer
        self._story = Story(task_dir / "transcripts" / f"{name}.story.ndjson", attempt, now)
        self._page = Transcript(str(task_dir / "transcripts" / f"{name}.md"))
        self._write(f"# {attempt.phase}, attempt {attempt.number}\n\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self._break_off(error)
        except OstlerError:
            return  # the error that ended the attempt says more
        finally:
            with closing(self._story):
                self._page.close()

    def replace_prompt(self, prompt: str) -> None:
        """Keep the prompt that the agent really got: another one where its session was begun again."""
        self.prompt = prompt
        write_projection(self._prompt, prompt.encode())
        write_current(self._task_dir, prompt)

    def hear(self, event: AgentEvent) -> None:
        """Add what the agent says and does."""
        if isinstance(event, TextSaid):
            event = replace(event, text=self._words(event.text))
        self._story.hear(event)
        if line := _line(event):
            self._write(line)

    def close_with(self, result: CallResult, cost_usd: float | None) -> None:
        write_projection(self._answer, self._words(result.text).encode("utf-8", "replace"))
        ended = "succeeded" if result.ok else f"{result.code}: {result.message}"
        tokens = f"{result.usage.input_tokens} tokens in, {result.usage.output_tokens} out"
        self._write(f"{ended} ({result.duration_seconds:.1f} s, {tokens})\n\n")
        self._story.end(result, cost_usd)

    def _break_off(self, error: BaseException) -> None:
        self._write("stopped before it was done\n\n")
        if isinstance(error, OstlerError):
            self._story.break_off(error.code, error.message)
        else:
            self._story.break_off(Code.INTERRUPTED, "stopped before it was done")

    def _write(self, text: str) -> None:
        self._page.write(text.encode("utf-8", "replace"))


def _line(event: AgentEvent) -> str:
    match event:
        case TextSaid(text=text):
            return f"{text.strip()}\n\n"
        case ToolUsed(tool=tool, detail=detail):
            return f"- {tool} {detail}".rstrip() + "\n\n"
        case ToolDenied(tool=tool, detail=detail):
            return f"- {tool} denied {detail}".rstrip() + "\n\n"
        case RetrySeen(code=code, delay_seconds=delay):
            return f"- the agent waits {delay:.0f} s for its provider ({code})\n\n"
        case SessionReplaced(resumed=resumed):
            how = "existed already and goes on" if resumed else "was lost; a new one begins"
            return f"- the session {how}\n\n"
        case Warned(message=message):
            return f"- {message}\n\n"
        case SessionStarted() | ToolReturned() | UsageSeen() | LineUnread():
            return ""
        case _:
            assert_never(event)

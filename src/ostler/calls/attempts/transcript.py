"""The files of one attempt: its prompt, raw output, log, readable page and answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from ostler.calls.attempts.log import AttemptLog
from ostler.calls.attempts.page import AttemptPage
from ostler.calls.attempts.result import RecordedEvent, RecordedEvents
from ostler.calls.prompts import PROMPTS, write_current
from ostler.calls.thread import run_in_thread
from ostler.clock import Now
from ostler.errors import Code, OstlerError
from ostler.files.atomic import make_private_dir, remake_private_dir, write_projection
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult, TextReceived
from ostler.prompt.answer import extract_text
from ostler.secrets.redact import redact_bytes, redact_text, to_json

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
            make_private_dir(task_dir / folder, durable=False)  # flushed with what is in it
        self._task_dir = task_dir
        self._prompt_path = task_dir / PROMPTS / f"{name}.md"
        self._write_prompt(prompt)
        if system:
            clean = redact_bytes(system.encode("utf-8", "replace"))
            write_projection(task_dir / PROMPTS / f"{name}.system.md", clean)
        self.transcript = task_dir / "transcripts" / f"{name}.jsonl"
        self.answer = f"transcripts/{name}.answer.md"
        self._answer_path = task_dir / self.answer
        self._log = AttemptLog(task_dir / "transcripts" / f"{name}.log.ndjson", attempt, now)
        self._page = AttemptPage(task_dir / "transcripts" / f"{name}.md", attempt, prompt)

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
        self._write_prompt(prompt)
        self._page.write_prompt(prompt)

    def _write_prompt(self, prompt: str) -> None:
        self.prompt = prompt
        clean = redact_bytes(prompt.encode("utf-8", "replace"))
        write_projection(self._prompt_path, clean)
        write_current(self._task_dir, clean)

    def write_events(self, recorded: RecordedEvents) -> None:
        """Add events of the agent to the log and to the readable page."""
        if self._structured:
            recorded = RecordedEvents([*map(_extract_answer, recorded.events)], is_unchanged=False)
        self._log.write_events(recorded)
        self._page.write_events(event for event, _ in recorded.events)

    def write_result(self, result: CallResult, cost_usd: float | None) -> None:
        # Somebody may have deleted the directory during the call, and the answer was paid for.
        remake_private_dir(self._answer_path.parent, self._task_dir.parent.parent)
        write_answer(self._answer_path, result.text, structured=self._structured)
        self._page.write_result(result)
        self._log.write_end(result, cost_usd)

    def _write_interruption(self, error: BaseException) -> None:
        self._page.write_interruption(_INTERRUPTED)
        if isinstance(error, OstlerError):
            self._log.write_interruption(error.code, error.message)
        else:
            self._log.write_interruption(Code.INTERRUPTED, _INTERRUPTED)


async def open_in_thread(create: Callable[[], AttemptFiles]) -> AttemptFiles:
    """Return the files that a function creates in a thread; if cancelled, close them."""
    opened: list[AttemptFiles] = []
    try:
        await run_in_thread(lambda: opened.append(create()))
    except asyncio.CancelledError as error:
        for files in opened:
            files.__exit__(type(error), error, error.__traceback__)
        raise
    return opened[0]


def _extract_answer(recorded: RecordedEvent) -> RecordedEvent:
    """Return a text in the format of an answer as plain text."""
    event, _ = recorded
    if not isinstance(event, TextReceived):
        return recorded
    plain = replace(event, text=extract_text(event.text))
    return plain, to_json(plain)


def write_answer(path: Path, text: str, *, structured: bool) -> None:
    """Write the final text of an agent, without secrets; an answer in a format becomes plain text."""
    answer = redact_text(extract_text(text) if structured else text)
    write_projection(path, answer.encode("utf-8", "replace"))

"""Ask before each agent call, for `ostler run --step`."""

from __future__ import annotations

import asyncio
import os
import sys
import termios

from ostler.calls.debugger import PrePromptEvent, PromptData, StopRun
from ostler.cli.terminal.editor import edit_text
from ostler.cli.terminal.output import print_text
from ostler.cli.terminal.text import escape_controls, paint, to_one_line, use_colour
from ostler.engine.steps.services import run_in_thread
from ostler.errors import UsageError

_SHOWN_LINES = 12
_KEYS = "Enter continue   e edit   a show all   c continue without asking   q stop > "
_MAX_ANSWER_BYTES = 4096


def make_stepper(as_json: bool = False) -> Stepper:
    """Return a debugger that asks at this terminal; raises UsageError when there is no terminal."""
    if as_json:
        raise UsageError("--step cannot be combined with --json: it asks at the terminal")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--step needs a terminal: it asks before each agent call")
    return Stepper(sys.stdin.fileno())


class Stepper:
    """Asks before each prompt until the user continues without asking; nothing else prints while `asking`."""

    def __init__(self, terminal: int) -> None:
        self.asking = False
        # The editor then handles Ctrl-C.
        self.editing = False
        self._terminal = terminal
        self._stepping = True

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        """Return the prompt to send, edited or not; raises StopRun when the user stops."""
        if not self._stepping:
            return None
        self.asking = True
        try:
            return await self._ask(event)
        finally:
            self.asking = False

    async def _ask(self, event: PrePromptEvent) -> str:
        prompt = event.prompt
        print_text(_format_event(event))
        while True:
            match await self._read_answer():
                case "":
                    return prompt
                case "e":
                    prompt = await self._edit(prompt)
                    print_text(_format_excerpt(prompt))
                case "a":
                    print_text(_quote_lines(prompt.splitlines()))
                case "c":
                    self._stepping = False
                    return prompt
                case "q" | None:
                    raise StopRun
                case other:
                    print_text(f'unknown answer "{to_one_line(other)}"')

    async def _edit(self, prompt: str) -> str:
        self.editing = True
        try:
            edited = await run_in_thread(edit_text, prompt, "prompt.md")
        except UsageError as error:
            print_text(f"{error.message}; {error.hint}")
            return prompt
        finally:
            self.editing = False
        if edited.strip():
            return edited
        print_text("The prompt is empty; the previous one is kept.")
        return prompt

    async def _read_answer(self) -> str | None:
        """Read one line without blocking the run; None at the end of input."""
        # Discard what was typed before the question.
        termios.tcflush(self._terminal, termios.TCIFLUSH)
        sys.stdout.write(_KEYS)
        sys.stdout.flush()
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._terminal, ready.set)
        try:
            await ready.wait()
        except asyncio.CancelledError:
            # End the line of the question.
            print_text("")
            raise
        finally:
            loop.remove_reader(self._terminal)
        line = os.read(self._terminal, _MAX_ANSWER_BYTES)
        return line.decode("utf-8", "replace").strip().lower() if line else None


def _format_event(event: PrePromptEvent) -> str:
    data = event.data
    title = f"\n{event.task_id}   {data.phase} {data.iteration or ''}".rstrip()
    facts = {
        "agent": data.executor,
        "model": _format_model(data),
        "attempt": str(data.attempt or ""),
        "prompt": data.prompt_file,
    }
    lines = [f"  {name:<8} {to_one_line(value)}" for name, value in facts.items() if value]
    return "\n".join(
        (paint(title, "bold", use_colour(sys.stdout)), *lines, "", _format_excerpt(event.prompt))
    )


def _format_model(data: PromptData) -> str:
    if data.model_id and data.model_id != data.model:
        return f"{data.model} ({data.model_id})"
    return data.model or "the agent's default"


def _format_excerpt(prompt: str) -> str:
    lines = prompt.splitlines()
    more = len(lines) - _SHOWN_LINES
    rest = (f"    {more} more lines",) if more > 0 else ()
    return "\n".join((_quote_lines(lines[:_SHOWN_LINES]), *rest, ""))


def _quote_lines(lines: list[str]) -> str:
    return "\n".join(f"  | {escape_controls(line)}" for line in lines)

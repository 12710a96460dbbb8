"""ostler run --step: a person sees each prompt before it is sent."""

from __future__ import annotations

import asyncio
import os
import sys
import termios

from ostler.cli.editor import edit_text
from ostler.cli.out import say
from ostler.cli.text import one_line, paint, printable, wants_colour
from ostler.engine.steps.tools import to_its_end
from ostler.errors import UsageError
from ostler.worker.debugger import PrePromptEvent, PromptData, StopRun

_SHOWN_LINES = 12
_KEYS = "Enter goes on   e edits   a shows all   c goes on without asking   q stops > "
_LONGEST_ANSWER = 4096


def make_stepper(as_json: bool = False) -> Stepper:
    """A debugger that asks the person at this terminal; raises UsageError where there is none."""
    if as_json:
        raise UsageError("--step asks a person, and --json is for scripts", "use one of them")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--step asks before each start of an agent, which needs a terminal")
    return Stepper(sys.stdin.fileno())


class Stepper:
    """Asks before each prompt until it is told not to; what else is printed has to wait while `asking`."""

    def __init__(self, terminal: int) -> None:
        self.asking = False
        self.editing = False  # Ctrl-C is for the editor then
        self._terminal = terminal
        self._stepping = True

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        """What the person makes of it; raises StopRun when they want no more."""
        if not self._stepping:
            return None
        self.asking = True
        try:
            return await self._ask(event)
        finally:
            self.asking = False

    async def _ask(self, event: PrePromptEvent) -> str:
        prompt = event.prompt
        say(_page(event))
        while True:
            match await self._answer():
                case "":
                    return prompt
                case "e":
                    prompt = await self._edit(prompt)
                    say(_excerpt(prompt))
                case "a":
                    say(_quoted(prompt.splitlines()))
                case "c":
                    self._stepping = False
                    return prompt
                case "q" | None:
                    raise StopRun
                case other:
                    say(f"{one_line(other)!r} is none of them")

    async def _edit(self, prompt: str) -> str:
        self.editing = True
        try:
            edited = await to_its_end(edit_text, prompt, "prompt.md")
        except UsageError as error:
            say(f"{error.message}; {error.hint}")
            return prompt
        finally:
            self.editing = False
        if edited.strip():
            return edited
        say("An empty prompt cannot be sent; it stays as it was.")
        return prompt

    async def _answer(self) -> str | None:
        """One line, without blocking the run; None at the end of input."""
        termios.tcflush(self._terminal, termios.TCIFLUSH)  # typed before it was asked: meant for nothing here
        sys.stdout.write(_KEYS)
        sys.stdout.flush()
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._terminal, ready.set)
        try:
            await ready.wait()
        except asyncio.CancelledError:
            say("")  # what comes next begins a line of its own
            raise
        finally:
            loop.remove_reader(self._terminal)
        line = os.read(self._terminal, _LONGEST_ANSWER)
        return line.decode("utf-8", "replace").strip().lower() if line else None


def _page(event: PrePromptEvent) -> str:
    data = event.data
    title = f"\n{event.task_id}   {data.phase} {data.iteration or ''}".rstrip()
    facts = {
        "agent": data.executor,
        "model": _model(data),
        "attempt": str(data.attempt or ""),
        "prompt": data.prompt_file,
    }
    lines = [f"  {name:<8} {one_line(value)}" for name, value in facts.items() if value]
    return "\n".join((paint(title, "bold", wants_colour(sys.stdout)), *lines, "", _excerpt(event.prompt)))


def _model(data: PromptData) -> str:
    if data.model_id and data.model_id != data.model:
        return f"{data.model} ({data.model_id})"
    return data.model or "the agent's own choice"


def _excerpt(prompt: str) -> str:
    lines = prompt.splitlines()
    more = len(lines) - _SHOWN_LINES
    rest = (f"    {more} more lines",) if more > 0 else ()
    return "\n".join((_quoted(lines[:_SHOWN_LINES]), *rest, ""))


def _quoted(lines: list[str]) -> str:
    return "\n".join(f"  | {printable(line)}" for line in lines)

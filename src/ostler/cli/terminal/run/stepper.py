"""Ask before each agent call, for `ostler run --step`, or at breakpoints, for `ostler run --break`."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Sequence

from ostler.calls.breakpoints import Breakpoint, BreakpointDebugger
from ostler.calls.debugger import (
    DebugEvent,
    KillAttempt,
    PrePromptEvent,
    PromptData,
    StopRun,
    ToolCallEvent,
)
from ostler.calls.thread import run_in_thread
from ostler.cli.terminal.editor import edit_text
from ostler.cli.terminal.output import print_text
from ostler.cli.terminal.text import escape_controls, paint, to_one_line, use_colour
from ostler.errors import UsageError

_SHOWN_LINES = 12
_STEP = "Enter continue   e edit   a show all   c continue without asking   q stop > "
_BREAK = "Enter continue   s step   e edit   a show all   c continue without asking   q stop > "
_TOOL = "Enter continue   s step   k kill the attempt   c continue without asking   q stop > "
_MAX_ANSWER_BYTES = 4096


def make_stepper(as_json: bool = False, breakpoints: Sequence[Breakpoint] = ()) -> Stepper:
    """Return a debugger that asks at this terminal; raises UsageError when there is no terminal."""
    option, when = ("--break", "at its breakpoints") if breakpoints else ("--step", "before each agent call")
    if as_json:
        raise UsageError(f"{option} cannot be combined with --json: it asks at the terminal")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"{option} needs a terminal: it asks {when}")
    return Stepper(sys.stdin.fileno(), breakpoints)


class Stepper(BreakpointDebugger):
    """Asks before each prompt, or at breakpoints, until the user continues without asking.

    Nothing else prints while `asking`.
    """

    def __init__(self, terminal: int, breakpoints: Sequence[Breakpoint] = ()) -> None:
        super().__init__(self._handle_stop, breakpoints or (Breakpoint(),))
        self._prompt_keys = _BREAK if breakpoints else _STEP
        self.asking = False
        # The editor then handles Ctrl-C.
        self.editing = False
        self._terminal = terminal

    async def _handle_stop(self, event: DebugEvent) -> str | None:
        """Return the prompt to send, edited or not; raises StopRun when the user stops."""
        self.asking = True
        try:
            if isinstance(event, PrePromptEvent):
                return await self._ask(event)
            await self._ask_about_tool(event)
            return None
        finally:
            self.asking = False

    async def _ask_about_tool(self, event: ToolCallEvent) -> None:
        print_text(_format_tool(event))
        while True:
            match await self._read_answer(_TOOL):
                case "":
                    return
                case "s":
                    self.step()
                    return
                case "k":
                    raise KillAttempt
                case "c":
                    self.clear()
                    return
                case "q" | None:
                    raise StopRun
                case other:
                    print_text(f'unknown answer "{to_one_line(other)}"')

    async def _ask(self, event: PrePromptEvent) -> str:
        prompt = event.prompt
        print_text(_format_event(event))
        while True:
            match await self._read_answer(self._prompt_keys):
                case "":
                    return prompt
                case "s":
                    self.step()
                    return prompt
                case "e":
                    prompt = await self._edit(prompt)
                    print_text(_format_excerpt(prompt))
                case "a":
                    print_text(_quote_lines(prompt.splitlines()))
                case "c":
                    self.clear()
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

    async def _read_answer(self, keys: str) -> str | None:
        """Read one line without blocking the run; None at the end of input."""
        # Discard what was typed before the question.
        termios.tcflush(self._terminal, termios.TCIFLUSH)
        sys.stdout.write(keys)
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


def _format_tool(event: ToolCallEvent) -> str:
    data = event.data
    title = f"\n{event.task_id}   {data.phase} {data.iteration or ''}".rstrip()
    facts = {"agent": data.executor, "attempt": str(data.attempt), "tool": f"{event.tool} {event.detail}"}
    lines = [f"  {name:<8} {to_one_line(value)}" for name, value in facts.items()]
    stopped = "  The agent is stopped until you answer."
    return "\n".join((paint(title, "bold", use_colour(sys.stdout)), *lines, stopped, ""))


def _format_model(data: PromptData) -> str:
    if data.model_id and data.model_id != data.model:
        return f"{data.model} ({data.model_id})"
    # Without a model, its entry has the name of the agent.
    return data.model if data.model not in ("", data.executor) else "the agent's default"


def _format_excerpt(prompt: str) -> str:
    lines = prompt.splitlines()
    more = len(lines) - _SHOWN_LINES
    rest = (f"    {more} more lines",) if more > 0 else ()
    return "\n".join((_quote_lines(lines[:_SHOWN_LINES]), *rest, ""))


def _quote_lines(lines: list[str]) -> str:
    return "\n".join(f"  | {escape_controls(line)}" for line in lines)

"""Any program as an agent: it gets the prompt, its exit code decides, and what it changed counts."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors.discover import find_program, require_program
from ostler.executors.ending import Ending, command_for, ending_of, result_of
from ostler.executors.error_text import error_line, is_error_answer
from ostler.executors.failure import code_of_failure, retry_after
from ostler.executors.opening import opening
from ostler.executors.paper import paper_for
from ostler.executors.protocol import Capabilities
from ostler.model.call import AgentCall, CallResult, OnEvent, SessionStarted, TextSaid
from ostler.model.command import Exit
from ostler.process.protocol import CommandRunner

_KEPT = 64 * 1024
_PROVIDER = (Code.RATE_LIMITED, Code.QUOTA_EXCEEDED, Code.BILLING, Code.OVERLOADED, Code.AUTH_FAILED)
_PLACE = re.compile(r"\{(prompt_file|session_id|model)\}")


class CommandExecutor:
    """Runs settings.command; {prompt_file}, {session_id} and {model} in its arguments are filled in.

    An argument with {model} is left out when no model is set. Without {prompt_file} the prompt goes to stdin.
    A program that takes {session_id} gets the same id again when the session is resumed; one that does not
    cannot be resumed.
    """

    def __init__(self, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        self.name = name
        self._settings = settings
        self._runner = runner
        remembers = any("{session_id}" in arg for arg in settings.args)
        self.capabilities = Capabilities(resumes=remembers, takes_our_id=remembers, speaks=False)

    def validate_availability(self) -> None:
        """Raise AgentUnavailable when the program is nowhere."""
        self._program()

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Run the program once."""
        return await self._run(opening(call), on_event)

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Run the program again with the same session id."""
        if not self.capabilities.resumes:
            message = f"{self.name} cannot resume: executors.{self.name}.args has no {{session_id}}"
            return CallResult(Code.RESUME_UNSUPPORTED, message)
        return await self._run(call, on_event)

    async def _run(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        output = _Output(on_event)
        try:
            with self._filled(call) as (arguments, stdin):
                argv = (self._program(), *arguments)
                command = command_for(call, argv, {**call.env, **self._settings.env}, stdin)
                on_event(SessionStarted(call.session_id, call.model))
                exit = await self._runner.run(command, output.take)
        except OstlerError as error:
            return result_of(error)
        return self._judge(call, exit, output.text)

    @contextmanager
    def _filled(self, call: AgentCall) -> Generator[tuple[tuple[str, ...], bytes], None, None]:
        """The arguments with their places filled, and what goes to stdin."""
        prompt = call.prompt.encode("utf-8", "replace")
        values = {"session_id": call.session_id, "model": call.model}
        if not any("{prompt_file}" in arg for arg in self._settings.args):
            yield self._arguments(values), prompt
            return
        with paper_for(call.transcript, "prompt", prompt) as path:
            yield self._arguments({**values, "prompt_file": path}), b""

    def _arguments(self, values: dict[str, str]) -> tuple[str, ...]:
        wanted = [arg for arg in self._settings.args if values["model"] or "{model}" not in arg]
        return tuple(_PLACE.sub(lambda found: values[found[1]], arg) for arg in wanted)

    def _judge(self, call: AgentCall, exit: Exit, text: str) -> CallResult:
        ending = self._ending(exit, text)
        return CallResult(
            code=ending.code,
            message=ending.message,
            text=text if ending.code is None else "",
            session_id=call.session_id,
            model=call.model,
            exit_code=exit.status,
            duration_seconds=exit.duration_seconds,
            peak_memory_mb=exit.peak_memory_mb,
            retry_after_seconds=retry_after(ending.message) if ending.code is Code.RATE_LIMITED else None,
        )

    def _ending(self, exit: Exit, text: str) -> Ending:
        """C36: as nothing that it says is structured, an error line is believed, and only after a failure."""
        if exit.status == 0 and exit.stopped is None and not is_error_answer(text):
            return Ending(None)
        said = error_line(text)
        ending = ending_of(replace(exit, stderr_tail=exit.stderr_tail.strip() or said), self.name)
        if ending.code not in (Code.AGENT_FAILED, Code.NO_RESULT):
            return ending
        code = _provider_trouble(exit.stderr_tail) or _provider_trouble(said)
        return Ending(code or Code.AGENT_FAILED, ending.message)

    def _program(self) -> str:
        command = self._settings.command
        hint = f"install it, or correct executors.{self.name}.command"
        return require_program(find_program(self.name, command), command or self.name, hint)


def _provider_trouble(text: str) -> Code | None:
    code = code_of_failure(text)
    return code if code in _PROVIDER else None


class _Output:
    """Passes lines on and keeps the last 64 KiB as the program's final text."""

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._kept = bytearray()

    def take(self, line: bytes) -> bool:
        self._kept += line + b"\n"
        if len(self._kept) > 2 * _KEPT:
            del self._kept[:-_KEPT]
        if line.strip():
            self._on_event(TextSaid(line.decode("utf-8", "replace")))
        return False

    @property
    def text(self) -> str:
        return bytes(self._kept[-_KEPT:]).decode("utf-8", "replace").strip()

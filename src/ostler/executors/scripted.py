"""An agent that follows a script instead of a model: for demonstrations, trials and tests.

The script is the file named by the executor's first argument, relative to the workspace, or else the
```ostler-script block in the prompt; a session keeps its script, so that a later prompt may leave it out.
A real child process plays it, which can be killed like any agent.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors import scripted_agent
from ostler.executors.ending import Ending, command_for, ending_of, result_of
from ostler.executors.opening import opening
from ostler.executors.protocol import Capabilities
from ostler.executors.script import ScriptInvalid, script_of_file, script_of_prompt
from ostler.executors.session_file import session_file
from ostler.executors.wire import one_line, read
from ostler.model.call import (
    AgentCall,
    CallResult,
    LineUnread,
    OnEvent,
    SessionReplaced,
    SessionStarted,
    TextSaid,
    ToolReturned,
    ToolUsed,
    UsageSeen,
)
from ostler.model.command import Exit
from ostler.model.usage import Usage
from ostler.process.protocol import CommandRunner

CAPABILITIES = Capabilities(resumes=True, takes_our_id=True, reports_usage=True, speaks=False)


class ScriptedExecutor:
    """Plays a script; resuming a session goes on with the first step that was not finished."""

    capabilities = CAPABILITIES

    def __init__(self, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        self.name = name
        self._settings = settings
        self._runner = runner

    def validate_availability(self) -> None:
        """Nothing to install: the interpreter that runs Ostler plays the script."""

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Play from the first step; a session that exists already goes on where it was."""
        return await self._run(opening(call), _Script(on_event, expected=False))

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Go on with the next step; a session that was never begun is begun."""
        return await self._run(call, _Script(on_event, expected=True))

    async def _run(self, call: AgentCall, heard: _Script) -> CallResult:
        try:
            stdin = msgspec.json.encode(self._work(call))
            argv = (sys.executable, "-I", "-S", scripted_agent.__file__, _state_file(call))
            command = command_for(call, argv, {**call.env, **self._settings.env}, stdin)
            exit = await self._runner.run(command, heard.take)
        except OstlerError as error:
            return result_of(error)
        return heard.judge(call, exit)

    def _work(self, call: AgentCall) -> dict[str, object]:
        steps = self._steps(call)
        if steps is None and not Path(_state_file(call) or "/nowhere").exists():
            mistake = f"no ```ostler-script block, and executors.{self.name}.args names no script"
            raise ScriptInvalid("prompt", 1, mistake)
        return {"steps": steps, "session_id": call.session_id, "prompt_length": len(call.prompt)}

    def _steps(self, call: AgentCall) -> list[dict[str, object]] | None:
        if self._settings.args:
            named = self._settings.args[0]
            return script_of_file(Path(call.cwd, named), named)
        return script_of_prompt(call.prompt)


class _Line(Struct, frozen=True):
    """Every line of scripted_agent has some of these."""

    type: str = ""
    text: str = ""
    tool: str = ""
    detail: str = ""
    id: str = ""
    input: Raw = Raw(b"{}")
    failed: bool = False
    session_id: str = ""
    resumed: bool = False
    message: str = ""
    code: Code | None = None
    input_tokens: int = 0
    output_tokens: int = 0


_LINE = msgspec.json.Decoder(_Line)


class _Script:
    """Hears one play of a script."""

    def __init__(self, on_event: OnEvent, *, expected: bool) -> None:
        self._on_event = on_event
        self._expected = expected  # that the session is there already
        self._result: _Line | None = None
        self._failure: _Line | None = None

    def take(self, raw: bytes) -> bool:
        line = read(_LINE, raw) or _Line()
        match line.type:
            case "session":
                self._hear_session(line)
            case "text":
                self._on_event(TextSaid(line.text))
            case "tool":
                self._on_event(ToolUsed(line.tool, one_line(line.detail), line.id, line.input.copy()))
            case "failed":
                self._failure = line
            case "result":
                self._result = line
                self._on_event(UsageSeen(_usage(line)))
            case "output":
                self._on_event(ToolReturned(line.id, line.text, line.failed))
            case _:
                self._on_event(LineUnread(one_line(raw[:400].decode("utf-8", "replace"))))
        return self._result is not None

    def judge(self, call: AgentCall, exit: Exit) -> CallResult:
        ending = self._ending(exit)
        result = self._result or _Line()
        return CallResult(
            code=ending.code,
            message=ending.message,
            text=result.text if ending.code is None else "",
            session_id=call.session_id,
            exit_code=exit.status,
            duration_seconds=exit.duration_seconds,
            peak_memory_mb=exit.peak_memory_mb,
            usage=_usage(result),
        )

    def _hear_session(self, line: _Line) -> None:
        self._on_event(SessionStarted(line.session_id))
        if line.resumed is not self._expected:
            self._on_event(SessionReplaced(line.session_id, resumed=line.resumed))

    def _ending(self, exit: Exit) -> Ending:
        if self._failure is not None:
            return Ending(self._failure.code or Code.AGENT_FAILED, self._failure.message)
        if self._result is None or (exit.status != 0 and exit.stopped is None):
            return ending_of(exit, "the script")
        if not self._result.text.strip():
            return Ending(Code.RESPONSE_EMPTY, "the script ended with an empty answer")
        return Ending(None)


def _usage(line: _Line) -> Usage:
    return Usage(line.input_tokens, line.output_tokens)


def _state_file(call: AgentCall) -> str:
    return str(session_file(call, "script") or "")

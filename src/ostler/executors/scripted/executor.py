"""Runs a script instead of a model, for demonstrations and tests.

The script is the file that the first argument of the executor names, relative to the workspace, or the
```ostler-script block of the prompt. A session stores its script, so later prompts may omit it. A child
process runs the script, which can be killed like any agent.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors.agent_json import decode_json
from ostler.executors.call_setup import build_command, locate_session_file, prepend_system_prompt
from ostler.executors.discover import make_direct
from ostler.executors.exit_status import RunStatus, classify_exit, result_from_error
from ostler.executors.protocol import Capabilities
from ostler.executors.scripted import agent
from ostler.executors.scripted.script import ScriptInvalid, extract_script, load_script
from ostler.model.call import (
    AgentCall,
    CallResult,
    LineSkipped,
    OnEvent,
    SessionReplaced,
    SessionStarted,
    TextReceived,
    ToolReturned,
    ToolUsed,
    UsageReported,
)
from ostler.model.command import Exit
from ostler.model.usage import Usage
from ostler.process.protocol import CommandRunner
from ostler.text import first_line

CAPABILITIES = Capabilities(
    resumes=True, accepts_session_id=True, reports_usage=True, answers=False, has_account=False
)


class ScriptedExecutor:
    """Runs a script; a resumed session continues with the first step that was not finished."""

    capabilities = CAPABILITIES

    def __init__(self, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        self.name = name
        self._settings = settings
        self._runner = runner

    def validate_availability(self) -> None:
        """Do nothing: the Python interpreter of Ostler runs the script."""

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Run from the first step; continue a session that exists already."""
        return await self._run(prepend_system_prompt(call), _ScriptReader(on_event, resumed=False))

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Continue with the next step; with a fresh prompt, start a session whose files are gone."""
        if not self._is_lost(call):
            return await self._run(call, _ScriptReader(on_event, resumed=True))
        # Its files are on another machine, deleted, or were never written.
        if call.fresh_prompt is None:
            return CallResult(Code.SESSION_NOT_FOUND, f"no session {call.session_id} of a script")
        on_event(SessionReplaced(call.session_id, resumed=False))
        return await self.spawn(replace(call, prompt=await call.fresh_prompt()), on_event)

    async def _run(self, call: AgentCall, reader: _ScriptReader) -> CallResult:
        try:
            stdin = msgspec.json.encode(self._task(call))
            argv = (make_direct(sys.executable), "-I", "-S", agent.__file__, _find_state(call))
            command = build_command(call, argv, {**call.env, **self._settings.env}, stdin)
            exit = await self._runner.run(command, reader.read_line)
        except OstlerError as error:
            return result_from_error(error)
        return reader.evaluate(call, exit)

    def _is_lost(self, call: AgentCall) -> bool:
        stored = Path(_find_state(call, on_host=True) or "/nowhere")
        return not self._settings.args and extract_script(call.prompt) is None and not stored.exists()

    def _task(self, call: AgentCall) -> dict[str, object]:
        steps = self._steps(call)
        if self._is_lost(call):
            message = f"no ```ostler-script block, and executors.{self.name}.args names no script"
            raise ScriptInvalid("prompt", 1, message)
        return {"steps": steps, "session_id": call.session_id, "prompt_length": len(call.prompt)}

    def _steps(self, call: AgentCall) -> list[dict[str, object]] | None:
        if self._settings.args:
            path = self._settings.args[0]
            return load_script(Path(call.cwd, path), path)
        return extract_script(call.prompt)


class _Line(Struct, frozen=True):
    """The members of all lines that the agent program prints."""

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


class _ScriptReader:
    """Reads the output of one run of a script, then evaluates the run."""

    def __init__(self, on_event: OnEvent, *, resumed: bool) -> None:
        self._on_event = on_event
        self.resumed = resumed
        self._result: _Line | None = None
        self._failure: _Line | None = None

    def read_line(self, raw: bytes) -> bool:
        line = decode_json(_LINE, raw) or _Line()
        match line.type:
            case "session":
                self._read_session(line)
            case "text":
                self._on_event(TextReceived(line.text))
            case "tool":
                self._on_event(ToolUsed(line.tool, first_line(line.detail), line.id, line.input.copy()))
            case "failed":
                self._failure = line
            case "result":
                self._result = line
                self._on_event(UsageReported(_usage(line)))
            case "output":
                self._on_event(ToolReturned(line.id, line.text, line.failed))
            case _:
                self._on_event(LineSkipped(first_line(raw[:400].decode("utf-8", "replace"))))
        return self._result is not None

    def evaluate(self, call: AgentCall, exit: Exit) -> CallResult:
        status = self._status(exit)
        result = self._result or _Line()
        return CallResult(
            code=status.code,
            message=status.message,
            text=result.text if status.code is None else "",
            session_id=call.session_id,
            exit_code=exit.status,
            duration_seconds=exit.duration_seconds,
            peak_memory_mb=exit.peak_memory_mb,
            usage=_usage(result),
        )

    def _read_session(self, line: _Line) -> None:
        self._on_event(SessionStarted(line.session_id))
        if line.resumed is not self.resumed:
            self._on_event(SessionReplaced(line.session_id, resumed=line.resumed))

    def _status(self, exit: Exit) -> RunStatus:
        if self._failure is not None:
            return RunStatus(self._failure.code or Code.AGENT_FAILED, self._failure.message)
        if self._result is None or (exit.status != 0 and exit.stopped is None):
            return classify_exit(exit, "the script")
        if not self._result.text.strip():
            return RunStatus(Code.RESPONSE_EMPTY, "the script ended with an empty answer")
        return RunStatus(None)


def _usage(line: _Line) -> Usage:
    return Usage(line.input_tokens, line.output_tokens)


def _find_state(call: AgentCall, *, on_host: bool = False) -> str:
    """Return the path of the session's script: for the program, or for this process."""
    path = locate_session_file(call, "script")
    if path is None:
        return ""
    if not call.home:
        return str(path)
    return str(Path(call.home if on_host else call.env["HOME"], path.name))

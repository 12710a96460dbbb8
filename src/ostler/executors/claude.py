"""Claude Code, headless: `claude --print --output-format stream-json`, the prompt on stdin."""

from __future__ import annotations

import os
import time

import msgspec

from ostler.clock import Now
from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors.claude_stream import ClaudeStream
from ostler.executors.claude_verdict import judge
from ostler.executors.discover import Search, find_program, require_program
from ostler.executors.ending import command_for, result_of
from ostler.executors.protocol import Capabilities
from ostler.model.call import AgentCall, CallResult, OnEvent, Permissions, SessionReplaced
from ostler.process.protocol import CommandRunner
from ostler.process.tool import ToolTimeout, run_tool

INSTALL = "npm install -g @anthropic-ai/claude-code"
PLACES = (
    "~/.claude/local/claude",
    "~/.local/bin/claude",
    "/usr/local/bin/claude",
    "/opt/homebrew/bin/claude",
)

CAPABILITIES = Capabilities(
    resumes=True,
    takes_our_id=True,
    reports_usage=True,
    reports_cost=True,
    environment=("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*"),
    environment_with={
        "CLAUDE_CODE_USE_BEDROCK": ("AWS_*",),
        "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_*", "CLOUD_ML_REGION", "VERTEX_REGION_*"),
    },
)

# The worker owns the retries; claude's own ten would hide a limit for three minutes.
SWITCHES = {
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}

_PERMISSIONS: dict[Permissions, tuple[str, ...]] = {
    "ask": (),
    "accept-edits": ("--permission-mode", "acceptEdits"),
    "skip": ("--dangerously-skip-permissions",),
}


class ClaudeExecutor:
    """Runs Claude Code; stateless, so that any number of calls may share it."""

    capabilities = CAPABILITIES

    def __init__(
        self, name: str, settings: ExecutorSettings, runner: CommandRunner, now: Now = time.time
    ) -> None:
        self.name = name
        self._settings = settings
        self._runner = runner
        self._now = now

    def validate_availability(self) -> None:
        """Raise AgentUnavailable when the program is nowhere."""
        self._program()

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Start a session; one that exists already, as after a crash, is resumed instead."""
        result = await self._run(call, on_event, resume=False)
        if result.code is not Code.SESSION_IN_USE:
            return result
        on_event(SessionReplaced(call.session_id, resumed=True))
        return _after(result, await self._run(call, on_event, resume=True))

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Continue a session; one that claude does not know is begun again under the same id."""
        result = await self._run(call, on_event, resume=True)
        if result.code is not Code.SESSION_NOT_FOUND:
            return result
        on_event(SessionReplaced(call.session_id, resumed=False))
        fresh = msgspec.structs.replace(call, prompt=call.fresh_prompt or call.prompt, session_cost_usd=0.0)
        return _after(result, await self._run(fresh, on_event, resume=False))

    async def _run(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> CallResult:
        heard = ClaudeStream(on_event)
        try:
            argv = (self._program(), *self.arguments(call, resume=resume))
            env = {**SWITCHES, **call.env, **self._settings.env}
            exit = await self._runner.run(command_for(call, argv, env, stdin_of(call.prompt)), heard.take)
        except OstlerError as error:
            return result_of(error)
        heard.close(exit.long_lines)
        return judge(call, heard, exit, self._now)

    def arguments(self, call: AgentCall, *, resume: bool) -> tuple[str, ...]:
        """What stands behind `claude` on the command line; never the prompt."""
        session = ("--resume" if resume else "--session-id", call.session_id) if call.session_id else ()
        return (
            *("--print", "--verbose", "--output-format", "stream-json"),
            *_PERMISSIONS[self._settings.permissions],
            *(("--model", call.model) if call.model else ()),
            *session,
            *self._settings.args,
        )

    def _program(self) -> str:
        search = find_claude(self.name, self._settings.command)
        return require_program(search, "claude", f"install it with: {INSTALL}")


def find_claude(name: str = "claude", command: str = "") -> Search:
    """Look for this instance's own variable first, then as for every claude."""
    if name != "claude" and not command:
        own = find_program(name)
        if own.path is not None:
            return own
    return find_program("claude", command, places=PLACES)


def stdin_of(prompt: str) -> bytes:
    """The prompt as bytes; one that claude would take for a slash command begins with an empty line."""
    text = f"\n{prompt}" if prompt.startswith("/") else prompt
    return text.encode("utf-8", "replace")


def version(path: str, env: dict[str, str] | None = None) -> str:
    """What `claude --version` prints, or an empty string when it does not answer within 5 s."""
    try:
        done = run_tool([path, "--version"], env=env or dict(os.environ), cwd="/", timeout_seconds=5.0)
    except (OSError, ToolTimeout):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.status == 0 else ""


def _after(first: CallResult, second: CallResult) -> CallResult:
    """The second run is the result; the time of the first belongs to it."""
    return msgspec.structs.replace(second, duration_seconds=first.duration_seconds + second.duration_seconds)

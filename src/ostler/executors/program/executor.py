"""Runs an agent program: finds it, starts it with the prompt on stdin, and reads its output."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors.call_setup import (
    build_command,
    encode_prompt,
    prepend_system_prompt,
    warn_without_terminal,
    write_call_file,
)
from ostler.executors.exit_status import result_from_error
from ostler.executors.health import probe_program
from ostler.executors.limits.reading import add_limits
from ostler.executors.permissions import require_sandbox, resolve_permissions
from ostler.executors.program.spec import AgentSpec, DefaultSettings, ExtraArguments, LaunchOptions
from ostler.executors.protocol import Capabilities, supports_resumption
from ostler.executors.sandboxed.needs import Outside
from ostler.files.atomic import make_private_dir
from ostler.files.user_cache import find_user_cache
from ostler.model.call import (
    AgentCall,
    AgentEvent,
    CallResult,
    OnEvent,
    PermissionSetting,
    RetryReported,
    SessionReplaced,
    SessionStarted,
    WarningRaised,
)
from ostler.model.command import Command, Exit
from ostler.model.usage import Usage
from ostler.process.protocol import CommandRunner


class ProgramExecutor:
    """Runs one agent program; it has no state, so any number of calls may share it."""

    spec: AgentSpec
    environ: Mapping[str, str] | None = None  # see SearchesPrograms

    def __init__(self, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        self.name = name
        self._settings = settings
        self._runner = runner

    @property
    def capabilities(self) -> Capabilities:
        """See Executor.capabilities."""
        return self.spec.capabilities

    @property
    def permissions(self) -> PermissionSetting:
        """The setting, limited to what the task allows."""
        return self._settings.permissions

    def validate_availability(self) -> None:
        """Raise AgentUnavailable when the program is not installed."""
        self._program()

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Start a session; resume it when it exists already, as after a crash."""
        call = self._with_system_prompt(call)
        result = await self._try(self._without_foreign_id(call), on_event, resume=False)
        if result.code is not Code.SESSION_IN_USE:
            return result
        on_event(SessionReplaced(call.session_id, resumed=True))
        resumed = _add_duration(result, await self._try(call, on_event, resume=True))
        if resumed.code is not Code.SESSION_NOT_FOUND:
            return resumed
        return await self._start_other_session(call, resumed, on_event)

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Continue a session; when the agent does not find it, send the fresh prompt, if there is one, to a
        new session and report it.
        """
        if not supports_resumption(self):
            return CallResult(Code.RESUME_UNSUPPORTED, f"{self.name} cannot resume its sessions")
        result = await self._continue(call, on_event)
        if result.code is not Code.SESSION_NOT_FOUND or call.fresh_prompt is None:
            return result
        fresh = replace(
            self._without_foreign_id(call),
            prompt=await call.fresh_prompt(),
            session_cost_usd=0.0,
            session_usage=Usage(),
        )
        on_event, fresh = self._report_replacement(call, on_event), self._with_system_prompt(fresh)
        started = _add_duration(result, await self._try(fresh, on_event, resume=False))
        if started.code is not Code.SESSION_IN_USE:
            return started
        return await self._start_other_session(fresh, started, on_event)

    async def _start_other_session(
        self, call: AgentCall, result: CallResult, on_event: OnEvent
    ) -> CallResult:
        """Start with a new id: the agent finds no session with this one, but does not accept it either.

        gemini does this after an empty answer.
        """
        on_event(SessionReplaced(call.session_id, resumed=False))
        other = replace(call, session_id=str(uuid.uuid4()))
        return _add_duration(result, await self._try(other, on_event, resume=False))

    async def _continue(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        if not call.session_id:
            # Without an id the program would start a new session and succeed.
            return CallResult(Code.SESSION_NOT_FOUND, f"{self.name} cannot resume a session without its id")
        return await self._try(call, on_event, resume=True)

    async def _try(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> CallResult:
        """Run the program; when it is incompatible, add its version to the message."""
        result = await self._run(call, on_event, resume=resume)
        if result.code is not Code.AGENT_INCOMPATIBLE:
            return result
        program = self.spec.program
        path = program.find(self.environ, self._settings.command, self.name).path
        found = (await asyncio.to_thread(probe_program, path, call.env)).version or "no version"
        tested = f", tested with {program.tested_version}" if program.tested_version else ""
        return replace(result, message=f"{result.message} (found {found}{tested})")

    async def _run(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> CallResult:
        """Start the program, and once more after a repair."""
        extra = self._extra_arguments(call)
        if extra.refusal:
            return result_from_error(OstlerError(Code.CONFIG_INVALID, extra.refusal, "correct the file"))
        for warning in extra.warnings:
            on_event(WarningRaised(warning))
        warn_without_terminal(self.name, self._settings, on_event)
        on_event = self._warn_of_retries(call, on_event)
        result, error_output = await self._run_once(call, on_event, resume=resume)
        if result.ok or self.spec.repair is None or _has_linked_cache(call):
            return result
        repaired = await asyncio.to_thread(self.spec.repair, self._environment_on_host(call), error_output)
        if not repaired:
            return result
        on_event(WarningRaised(f"{repaired}; it is started once more"))
        second, _ = await self._run_once(call, on_event, resume=resume)
        return _add_duration(result, second)

    async def _run_once(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> tuple[CallResult, str]:
        """Return the result of one start, and the error output of the program."""
        assert self.spec.read_output
        reader = self.spec.read_output(call, on_event)
        started_at = time.time()
        try:
            with (
                self._write_settings(call) as prepared,
                self._write_schema(prepared) as prepared,
                self._write_system_prompt(call) as system,
            ):
                stdin = encode_prompt(call.prompt)
                command = self._command(prepared, stdin, system, resume=resume)
                command = replace(command, on_error_line=reader.read_error_line)
                exit = await self._runner.run(command, reader.read_line)
        except OstlerError as error:
            return result_from_error(error), ""
        result = await self._add_stored_windows(call, reader.evaluate(exit), started_at)
        return result, collect_error_output(exit, result)

    async def _add_stored_windows(self, call: AgentCall, result: CallResult, since: float) -> CallResult:
        if self.spec.read_windows is None or not result.session_id:
            return result
        env = self._environment_on_host(call)
        stored = await asyncio.to_thread(self.spec.read_windows, env, result.session_id, since)
        return add_limits(result, "", stored) if stored else result

    @contextmanager
    def _write_settings(self, call: AgentCall) -> Generator[AgentCall, None, None]:
        # Each call gets its own copy, because some agents rewrite the file.
        defaults = self._find_default_settings(call)
        if defaults is None:
            yield call
            return
        with write_call_file(self._settings_place(call), "settings.json", defaults.content) as path:
            yield replace(call, env={**call.env, defaults.variable: path})

    def _find_default_settings(self, call: AgentCall) -> DefaultSettings | None:
        """Return the settings to pass, unless the user or the private home directory has them."""
        defaults = self.spec.default_settings
        if defaults is None or defaults.variable in call.env:
            return None
        return None if call.home and defaults.find_refusal else defaults

    def _settings_place(self, call: AgentCall) -> str:
        """Return a path that the agent accepts for its settings, without the suffix; else the transcript."""
        refuses = self.spec.default_settings and self.spec.default_settings.find_refusal
        cache = find_user_cache(call.env)
        if not refuses or not call.transcript or cache is None or not refuses(Path(call.transcript)):
            return call.transcript
        other = cache / "ostler" / "agents" / self.spec.program.name
        return call.transcript if refuses(other) or not _make_directory(other.parent) else str(other)

    def _warn_of_retries(self, call: AgentCall, on_event: OnEvent) -> OnEvent:
        """Add a warning to the second retry when the agent skips the settings that allow one."""
        defaults = self._find_default_settings(call)
        if defaults is None or defaults.find_refusal is None:
            return on_event
        refusal = defaults.find_refusal(Path(self._settings_place(call)))
        retries = 0

        def forward(event: AgentEvent) -> None:
            nonlocal retries
            on_event(event)
            retries += isinstance(event, RetryReported)
            if refusal and retries == 2 and isinstance(event, RetryReported):
                skipped = f"{self.name} skips the settings of Ostler that limit its retries: {refusal}"
                on_event(WarningRaised(skipped))

        return forward

    @contextmanager
    def _write_schema(self, call: AgentCall) -> Generator[AgentCall, None, None]:
        if not (call.schema and self.spec.schema_in_file):
            yield call
            return
        with write_call_file(call.transcript, "schema.json", call.schema.encode(), call.launcher) as path:
            yield replace(call, schema=path)

    @contextmanager
    def _write_system_prompt(self, call: AgentCall) -> Generator[tuple[str, ...], None, None]:
        flag = self._system_prompt_flag()
        if not flag or not call.system.strip():
            yield ()
            return
        content = call.system.encode("utf-8", "replace")
        with write_call_file(call.transcript, "system.md", content, call.launcher) as path:
            yield (flag, path)

    def _with_system_prompt(self, call: AgentCall) -> AgentCall:
        return call if self._system_prompt_flag() else prepend_system_prompt(call)

    def _system_prompt_flag(self) -> str:
        """Return the flag, or an empty string when the settings pass a system prompt themselves."""
        flag = self.spec.system_prompt_flag
        configured = {arg.partition("=")[0] for arg in self._settings.args}
        return "" if configured & {flag, flag.removesuffix("-file")} else flag

    def _command(
        self, call: AgentCall, stdin: bytes = b"", first: tuple[str, ...] = (), *, resume: bool
    ) -> Command:
        allowed = call.allow_unsandboxed_skip or call.in_verified_sandbox
        require_sandbox(self.name, self._settings, allowed, self.spec.program.name)
        argv = (self._program(), *first, *self.arguments(call, resume=resume))
        command = build_command(call, argv, self._environment(call), stdin, self._settings.prefer_pty)
        # These agents read no prompt from a terminal.
        return replace(command, stdin_on_pty=False)

    def arguments(self, call: AgentCall, *, resume: bool) -> tuple[str, ...]:
        """Return the arguments of the program, without the prompt."""
        schema = call.schema if self.capabilities.structured_output else ""
        permissions = resolve_permissions(self._settings.permissions, call)
        options = LaunchOptions(call.session_id, resume, call.model, permissions, schema)
        extra = self._extra_arguments(call).arguments
        return (*extra, *self.spec.arguments(options), *self._settings.args, *call.access.arguments)

    def _extra_arguments(self, call: AgentCall) -> ExtraArguments:
        if self.spec.extra_arguments is None:
            return ExtraArguments()
        return self.spec.extra_arguments(call, self._settings.args)

    def find_path(self) -> str:
        """Return the path of the program; raise AgentUnavailable when it is not installed."""
        return self._program()

    def describe_outside(self, call: AgentCall) -> Outside:
        """Return the start of the agent as it would be without a sandbox."""
        permissions = resolve_permissions(self._settings.permissions, call)
        by_permissions = self.spec.permission_env.get(permissions, {})
        env = {**self.spec.default_env, **call.env, **by_permissions, **self._settings.env}
        return Outside(env, self._settings.args, call.model, call.cwd)

    def _environment(self, call: AgentCall) -> dict[str, str]:
        return call.access.apply(self.describe_outside(call).env)

    def _environment_on_host(self, call: AgentCall) -> dict[str, str]:
        """Return the variables with which this process finds the files of the agent."""
        env = self._environment(call)
        return {**env, "HOME": call.home} if call.home else env

    def _without_foreign_id(self, call: AgentCall) -> AgentCall:
        """Return the call without a session id for an agent that chooses its own."""
        return call if self.capabilities.accepts_session_id else replace(call, session_id="")

    def _report_replacement(self, call: AgentCall, on_event: OnEvent) -> OnEvent:
        """Report that a new session replaces the old one: now, or when the agent names the new one."""
        if self.capabilities.accepts_session_id:
            on_event(SessionReplaced(call.session_id, resumed=False))
            return on_event

        def forward(event: AgentEvent) -> None:
            on_event(event)
            if isinstance(event, SessionStarted):
                on_event(SessionReplaced(event.session_id, resumed=False))

        return forward

    def _program(self) -> str:
        return self.spec.program.require(self._settings.command, self.name, self._runner, self.environ)


def collect_error_output(exit: Exit, result: CallResult) -> str:
    """Return what a run reported about its own end, without the text of the agent."""
    return f"{exit.stderr_tail}\n{result.message}"


def _has_linked_cache(call: AgentCall) -> bool:
    """Return whether the agent replaced the cache of its private home directory by a link."""
    return bool(call.home) and Path(call.home, ".cache").is_symlink()


def _make_directory(path: Path) -> bool:
    try:
        make_private_dir(path)
    except OstlerError:
        return False
    return True


def _add_duration(first: CallResult, second: CallResult) -> CallResult:
    """Return the second result with the time of both runs."""
    return replace(second, duration_seconds=first.duration_seconds + second.duration_seconds)

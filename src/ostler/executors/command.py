"""Runs any program as an agent: its exit code decides, and its changes count.

The presets are agents that need no adapter: amp, crush, droid, kilocode and kimi. Their arguments are from
their documentation and not tested; executors.NAME.preset_args replaces them, args adds to them. They print
plain text.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors.call_setup import (
    build_command,
    prepend_system_prompt,
    warn_without_terminal,
    write_call_file,
)
from ostler.executors.discover import find_program, require_program, search_with
from ostler.executors.exit_status import RunStatus, classify_exit, result_from_error
from ostler.executors.failures import classify_failure, find_error_line, is_error_answer
from ostler.executors.permissions import (
    WITHOUT_CHECKS,
    create_unchecked_error,
    require_sandbox,
    resolve_permissions,
)
from ostler.executors.protocol import Capabilities
from ostler.lazy import lazy_pattern
from ostler.model.call import (
    AgentCall,
    CallResult,
    OnEvent,
    Permissions,
    PermissionSetting,
    RetryReported,
    SessionStarted,
    TextReceived,
)
from ostler.model.command import Exit, StopReason
from ostler.process.protocol import CommandRunner

if TYPE_CHECKING:
    from ostler.executors.limits.retries import Retry

_MAX_TEXT_BYTES = 64 * 1024
_LAST_LINES = 5
_PROVIDER_FAILURES = (
    Code.RATE_LIMITED,
    Code.QUOTA_EXCEEDED,
    Code.BILLING,
    Code.OVERLOADED,
    Code.AUTH_FAILED,
    Code.NETWORK,
    Code.STREAM_BROKEN,
    Code.MODEL_NOT_FOUND,
    Code.PROMPT_TOO_LARGE,
)
_PLACEHOLDER = lazy_pattern(r"\{(prompt_file|session_id|model)\}")


class CommandExecutor:
    """Runs settings.command; replaces {prompt_file}, {session_id} and {model} in its arguments.

    An argument with {model} is omitted, with its option, when no model is set. Without {prompt_file} the
    prompt is passed on stdin. A resumed session has the same {session_id}; without {session_id} the program
    cannot resume.
    """

    kind = ""  # of a preset
    environ: Mapping[str, str] | None = None  # see SearchesPrograms

    def __init__(self, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        self.name = name
        self._settings = settings
        self._runner = runner
        has_session_id = any("{session_id}" in arg for arg in settings.args)
        self.capabilities = Capabilities(
            resumes=has_session_id, accepts_session_id=has_session_id, answers=False
        )

    @property
    def permissions(self) -> PermissionSetting:
        """The setting, limited to what the task allows."""
        return self._settings.permissions

    def validate_availability(self) -> None:
        """Raise AgentUnavailable when the program is not installed."""
        self._program()

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Run the program once."""
        return await self._run(prepend_system_prompt(call), on_event)

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Run the program again with the same session id."""
        if not self.capabilities.resumes:
            message = f"{self.name} cannot resume: executors.{self.name}.args has no {{session_id}}"
            return CallResult(Code.RESUME_UNSUPPORTED, message)
        return await self._run(call, on_event)

    async def _run(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        output = _Output(on_event)
        try:
            allowed = call.allow_unsandboxed_skip or call.in_verified_sandbox
            require_sandbox(self.name, self._settings, allowed, self.kind)
            self._check_permissions(call)
            with self._prepare(call) as (arguments, stdin):
                argv = (self._program(), *arguments)
                env = {**call.env, **self._settings.env}
                command = build_command(call, argv, env, stdin, self._settings.prefer_pty)
                command = replace(command, on_error_line=output.read_error_line)
                on_event(SessionStarted(call.session_id, call.model))
                warn_without_terminal(self.name, self._settings, on_event)
                exit = await self._runner.run(command, output.read_line)
        except OstlerError as error:
            return result_from_error(error)
        if exit.stopped is StopReason.PROVIDER:
            return self._describe_wait(call, exit, output.retry)
        return self._evaluate(call, exit, output.text)

    def _check_permissions(self, call: AgentCall) -> None:
        """Raise OstlerError when the permissions of the call do not allow what the program does."""

    def _describe_wait(self, call: AgentCall, exit: Exit, retry: Retry | None) -> CallResult:
        """Return the result of a program that was ended because it waited for its provider."""
        from ostler.executors.limits.retries import describe_wait, seconds_of_limit  # noqa: PLC0415  (imported on use)

        reported, text = (retry.reported, retry.text) if retry else (None, "")
        status = describe_wait(reported, text, exit, self.name)
        seconds = seconds_of_limit(reported, text)
        result = replace(self._evaluate(call, exit, ""), code=status.code, message=status.message)
        return replace(result, retry_after_seconds=seconds, final=True)

    @contextmanager
    def _prepare(self, call: AgentCall) -> Generator[tuple[tuple[str, ...], bytes], None, None]:
        """Yield the arguments without placeholders, and the bytes for stdin."""
        prompt = call.prompt.encode("utf-8", "replace")
        values = {"session_id": call.session_id, "model": call.model}
        if not any("{prompt_file}" in arg for arg in self._settings.args):
            yield self._arguments(values), prompt
            return
        with write_call_file(call.transcript, "prompt", prompt, call.launcher) as path:
            yield self._arguments({**values, "prompt_file": path}), b""

    def _arguments(self, values: dict[str, str]) -> tuple[str, ...]:
        args = self._settings.args if values["model"] else _without_model(self._settings.args)
        return tuple(_PLACEHOLDER.sub(lambda found: values[found[1]], arg) for arg in args)

    def _evaluate(self, call: AgentCall, exit: Exit, text: str) -> CallResult:
        from ostler.executors.limits.reading import add_limits  # noqa: PLC0415  (imported on use)

        status = self._status(exit, text)
        result = CallResult(
            code=status.code,
            message=status.message,
            text=text if status.code is None else "",
            session_id=call.session_id,
            model=call.model,
            exit_code=exit.status,
            duration_seconds=exit.duration_seconds,
            peak_memory_mb=exit.peak_memory_mb,
        )
        error = find_error_line(text) if status.code else ""
        return add_limits(result, f"{find_error_line(exit.stderr_tail)}\n{error}")

    def _status(self, exit: Exit, text: str) -> RunStatus:
        # The output has no structure, so an error line counts only after a failure (C36).
        if exit.status == 0 and exit.stopped is None and not is_error_answer(text):
            return RunStatus(None)
        error = find_error_line(text)
        status = classify_exit(replace(exit, stderr_tail=exit.stderr_tail.strip() or error), self.name)
        if status.code not in (Code.AGENT_FAILED, Code.NO_RESULT):
            return status
        code = _classify_error_output(exit.stderr_tail)
        code = code or _provider_failure(error)
        return RunStatus(code or Code.AGENT_FAILED, status.message)

    def _program(self) -> str:
        command = self._settings.command
        found = search_with(self._runner, command or self.name) or find_program(
            self.name, command, self.environ
        )
        setting = found.variable or f"executors.{self.name}.command"
        hint = f"install it, or correct {setting}" if command else f"set {setting} to your program"
        return require_program(found, self.name if found.variable else command or self.name, hint)


def _without_model(args: tuple[str, ...]) -> list[str]:
    """Return the arguments without those with {model}, nor the option before one that is its whole value."""
    kept: list[str] = []
    for arg in args:
        if arg == "{model}" and kept and re.fullmatch(r"--?[A-Za-z][\w-]*", kept[-1]):
            kept.pop()
        elif "{model}" not in arg:
            kept.append(arg)
    return kept


def _last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-_LAST_LINES:])


def _classify_error_output(text: str) -> Code | None:
    """Classify the end of the error output: before it, a program may log anything.

    A quota closes the account for hours, so only a last line in the form of an error can be one.
    """
    if code := _provider_failure(find_error_line(text)):
        return code
    code = _provider_failure(_last_lines(text))
    return None if code is Code.QUOTA_EXCEEDED else code


def _provider_failure(text: str) -> Code | None:
    code = classify_failure(text)
    return code if code in _PROVIDER_FAILURES else None


class _Output:
    """Sends each line as an event, and keeps the last 64 KiB as the final text."""

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._tail = bytearray()
        self._gap = ""  # the empty lines since the last line, as one
        self._has_line = False
        self._retried: set[Code] = set()  # reported since the last line of output
        self.retry: Retry | None = None  # the last one in the error output

    def read_line(self, line: bytes) -> bool:
        self._tail += line + b"\n"
        if len(self._tail) > 2 * _MAX_TEXT_BYTES:
            del self._tail[:-_MAX_TEXT_BYTES]
        if not line.strip():
            self._gap = "\n" if self._has_line else ""
            return False
        self._has_line = True
        self._retried.clear()
        self._on_event(TextReceived(self._gap + line.decode("utf-8", "replace"), is_line=True))
        self._gap = ""
        return False

    def read_error_line(self, line: bytes) -> None:
        """Read a line in the form of an error: it may report a retry.

        The line may come from a tool that the program runs. So its delay does not end the program, nor does
        a series of such lines: only silence does.
        """
        from ostler.executors.limits.retries import RetryLines  # noqa: PLC0415  (imported on use)

        retry = RetryLines().find(line) if find_error_line(line.decode("utf-8", "replace")) else None
        if retry is None:
            return
        self.retry = retry
        if retry.code not in self._retried:
            self._retried.add(retry.code)
            self._on_event(RetryReported(retry.code, 0.0))

    @property
    def text(self) -> str:
        # Not other white space: the text of a document is written as it is.
        return bytes(self._tail[-_MAX_TEXT_BYTES:]).decode("utf-8", "replace").strip("\n")


# Agent -> the arguments of its headless mode.
PRESETS: dict[str, tuple[str, ...]] = {
    "amp": ("--execute",),
    "crush": ("run", "--quiet", "--model={model}"),
    "droid": ("exec", "--auto", "low", "--model={model}", "--file", "{prompt_file}"),
    "kilocode": ("run", "--auto", "--model={model}"),
    "kimi": ("--print", "--model={model}"),
}


class PresetExecutor(CommandExecutor):
    """Runs a preset; one that approves every tool needs permissions = "skip"."""

    def __init__(self, kind: str, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        self.kind = kind
        own = PRESETS[kind] if settings.preset_args is None else settings.preset_args
        args = (*own, *settings.args)
        super().__init__(name, replace(settings, command=settings.command or kind, args=args), runner)

    def _program(self) -> str:
        if self._settings.permissions not in ("auto", "skip"):
            self._require_skip(self._settings.permissions)
        return super()._program()

    def _check_permissions(self, call: AgentCall) -> None:
        self._require_skip(resolve_permissions(self._settings.permissions, call))

    def _require_skip(self, permissions: Permissions) -> None:
        if self.kind in WITHOUT_CHECKS and permissions != "skip":
            raise create_unchecked_error(self.name)


amp = partial(PresetExecutor, "amp")
crush = partial(PresetExecutor, "crush")
droid = partial(PresetExecutor, "droid")
kilocode = partial(PresetExecutor, "kilocode")
kimi = partial(PresetExecutor, "kimi")

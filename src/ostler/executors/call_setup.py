"""Prepares a call for its program: the prompt, the command and the files that belong to the call."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.files.atomic import write_projection
from ostler.model.call import AgentCall, OnEvent, WarningRaised
from ostler.model.command import TERMINAL_TYPE, Command, Launcher
from ostler.secrets.redact import redact_bytes


def prepend_system_prompt(call: AgentCall) -> AgentCall:
    """Return the call with its system prompt before the prompt, for an agent without a system prompt."""
    system = call.system.strip()
    return replace(call, prompt=f"{system}\n\n---\n\n{call.prompt}", system="") if system else call


def encode_prompt(prompt: str) -> bytes:
    """Return the prompt as bytes; an empty line before a slash keeps it from being a slash command."""
    text = f"\n{prompt}" if prompt.startswith("/") else prompt
    return text.encode("utf-8", "replace")


def build_command(
    call: AgentCall, argv: tuple[str, ...], env: dict[str, str], stdin: bytes = b"", prefer_pty: bool = False
) -> Command:
    """Return the command with the limits and paths of the call."""
    pty = prefer_pty and can_open_terminal()
    return Command(
        argv=argv,
        cwd=call.cwd,
        env={**env, "TERM": TERMINAL_TYPE} if pty else env,
        stdin=stdin,
        transcript=call.transcript,
        timeout_seconds=call.timeout_seconds,
        idle_timeout_seconds=call.idle_timeout_seconds,
        result_grace_seconds=call.result_grace_seconds,
        grace_seconds=call.grace_seconds,
        nice=call.nice,
        memory_mb=call.memory_mb,
        supervision=call.supervision,
        launcher=call.launcher,
        pty=pty,
    )


def can_open_terminal() -> bool:
    """Return whether a program can run on a terminal here."""
    from ostler.process.terminal import is_terminal_usable  # noqa: PLC0415  (few agents prefer one)

    return is_terminal_usable()


def warn_without_terminal(name: str, settings: ExecutorSettings, on_event: OnEvent) -> None:
    """Raise a warning if a terminal is preferred and none can be opened."""
    if settings.prefer_pty and not can_open_terminal():
        message = f"{name} runs on pipes: no pseudo-terminal can be opened here (executors.{name}.prefer_pty)"
        on_event(WarningRaised(message))


@contextmanager
def write_call_file(
    transcript: str, suffix: str, content: bytes, launcher: Launcher | None = None
) -> Generator[str, None, None]:
    """Write a private file for one call and yield its path.

    It stays beside the transcript; without a transcript it is removed after the call. A program in a sandbox
    gets a temporary copy: the directory of the transcript can be hidden there.
    """
    if transcript:
        path = Path(f"{transcript}.{suffix}").absolute()
        write_projection(path, content)
        try:
            if launcher is None:
                yield str(path)
            else:
                with write_call_file("", suffix, content) as copy:
                    yield copy
        finally:
            if (clean := redact_bytes(content)) != content:
                write_projection(path, clean)
        return
    with tempfile.TemporaryDirectory(prefix="ostler-") as directory:
        path = Path(directory, suffix)
        path.write_bytes(content)
        yield str(path)


def locate_session_file(call: AgentCall, kind: str) -> Path | None:
    """Return where an executor stores a session that its agent does not, or None for a call without files.

    The file is beside the transcript: outside the workspace, and as private.
    """
    if not call.transcript or not call.session_id:
        return None
    name = re.sub(r"[^A-Za-z0-9-]", "_", call.session_id)
    return Path(call.transcript).absolute().with_name(f"{name}.{kind}.json")

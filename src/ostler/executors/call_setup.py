"""Prepares a call for its program: the prompt, the command and the files that belong to the call."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from ostler.files.atomic import write_projection
from ostler.model.call import AgentCall
from ostler.model.command import Command
from ostler.sandbox.home.writer import remove_private, write_private
from ostler.secrets.redact import redact_bytes


def prepend_system_prompt(call: AgentCall) -> AgentCall:
    """Return the call with its system prompt before the prompt, for an agent without a system prompt."""
    system = call.system.strip()
    return replace(call, prompt=f"{system}\n\n---\n\n{call.prompt}", system="") if system else call


def encode_prompt(prompt: str) -> bytes:
    """Return the prompt as bytes; an empty line before a slash keeps it from being a slash command."""
    text = f"\n{prompt}" if prompt.startswith("/") else prompt
    return text.encode("utf-8", "replace")


def build_command(call: AgentCall, argv: tuple[str, ...], env: dict[str, str], stdin: bytes = b"") -> Command:
    """Return the command with the limits and paths of the call."""
    return Command(
        argv=argv,
        cwd=call.cwd,
        env=env,
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
    )


@contextmanager
def write_call_file(
    call: AgentCall, suffix: str, content: bytes, *, place: str = ""
) -> Generator[str, None, None]:
    """Write a private file for one call and yield the path at which the program finds it.

    It stays at `place` or beside the transcript; without both, or in a sandbox, it is removed after the call.
    """
    transcript = place or call.transcript
    if call.home:
        # The sandbox has the home directory, but not the directory of the transcript.
        name = f".ostler/calls/{os.urandom(8).hex()}.{suffix}"
        write_private(Path(call.home), name, content)
        try:
            yield str(find_inside(call, Path(call.home, name)))
        finally:
            remove_private(Path(call.home), name)
        return
    if transcript:
        path = Path(f"{transcript}.{suffix}").absolute()
        write_projection(path, content)
        try:
            yield str(path)
        finally:
            if (clean := redact_bytes(content)) != content:
                write_projection(path, clean)
        return
    with tempfile.TemporaryDirectory(prefix="ostler-") as directory:
        path = Path(directory, suffix)
        path.write_bytes(content)
        yield str(path)


def find_inside(call: AgentCall, path: Path) -> Path:
    """Return the path at which the program of a call finds a file of its private home directory."""
    if not call.home or not path.is_relative_to(call.home):
        return path
    return Path(call.env.get("HOME") or "/", path.relative_to(call.home))


def locate_session_file(call: AgentCall, kind: str) -> Path | None:
    """Return where an executor stores a session that its agent does not, or None for a call without files.

    The file is beside the transcript: outside the workspace, and as private. In a sandbox it is in the
    private home directory, which the program has at HOME.
    """
    if not call.transcript or not call.session_id:
        return None
    name = re.sub(r"[^A-Za-z0-9-]", "_", call.session_id)
    if call.home:
        return Path(call.home, f".{name}.{kind}.json")
    return Path(call.transcript).absolute().with_name(f"{name}.{kind}.json")

"""The files that one program needs inside its sandbox: its installation, and files written for this call."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from ostler.errors import AgentUnavailable
from ostler.model.command import Command
from ostler.sandbox.box.system import list_named_paths
from ostler.sandbox.mounts import Mount
from ostler.sandbox.readable import has_file, has_path


def list_program_paths(command: Command) -> list[Path]:
    """Return the program's installation and the files of this call, which are beside its transcript."""
    return [*list_named_paths({}, command.argv[:1]), *find_call_files(command)]


def require_visible(program: str, mounts: Iterable[Mount]) -> None:
    """Raise AgentUnavailable for a program that a mount hides: the worktree is mounted over the checkout."""
    path = Path(program)
    around = [one for one in mounts if path.is_absolute() and path.is_relative_to(one.destination)]
    if not around or not has_file(path):
        return
    last = around[-1]
    if not has_path(last.source / path.relative_to(last.destination)):
        hint = "commit it, add it to [workspace] link or copy, or use one outside the project"
        raise AgentUnavailable(f"{program} is not in the worktree of the task", hint)


def find_call_files(command: Command) -> list[Path]:
    """Return the files that were written for this call and that its arguments or variables name."""
    prefixes = [f"{tempfile.gettempdir()}/ostler-"]
    if command.transcript:
        prefixes.append(f"{Path(command.transcript).absolute()}.")
    named = (text.rpartition("=")[2] for text in (*command.argv, *command.env.values()))
    return [Path(one) for one in named if one.startswith(tuple(prefixes)) and has_file(Path(one))]

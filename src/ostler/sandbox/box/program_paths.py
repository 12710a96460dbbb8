"""The files that one program needs inside its sandbox: its installation, and files written for this call."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ostler.model.command import Command
from ostler.sandbox.box.system import list_named_paths
from ostler.sandbox.readable import has_file


def list_program_paths(command: Command) -> list[Path]:
    """Return the program's installation and the files of this call, which are beside its transcript."""
    return [*list_named_paths({}, command.argv[:1]), *find_call_files(command)]


def find_call_files(command: Command) -> list[Path]:
    """Return the files that were written for this call and that its arguments or variables name."""
    prefixes = [f"{tempfile.gettempdir()}/ostler-"]
    if command.transcript:
        prefixes.append(f"{Path(command.transcript).absolute()}.")
    named = (text.rpartition("=")[2] for text in (*command.argv, *command.env.values()))
    return [Path(one) for one in named if one.startswith(tuple(prefixes)) and has_file(Path(one))]

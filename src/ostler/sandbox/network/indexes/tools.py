"""Asks the tools for their settings; each question has a time limit."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ostler.process.tool import ToolTimeout, run_tool

SECONDS = 5.0  # for the questions to all tools, which are asked at the same time


class NoAnswer(Exception):
    """The tool failed or exceeded the time limit."""


class Tools(Struct, frozen=True):
    """The tools and settings of the user: their environment and their checkout, never a task's worktree."""

    environ: Mapping[str, str]
    cwd: Path
    deadline: float  # of every question together

    @property
    def home(self) -> Path:
        return Path(self.environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111

    @property
    def config_home(self) -> Path:
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    def locate(self, name: str) -> Path:
        """Return the path that a setting names: relative to the project, or to HOME after `~`."""
        place = self.home / name[2:] if name.startswith("~/") else self.cwd / name
        return Path(os.path.normpath(place))

    def search_path(self) -> list[str]:
        """Return the directories of programs; a relative one is another one for each program."""
        every = self.environ.get("PATH", os.defpath).split(os.pathsep)
        return [one for one in every if one.startswith("/")]

    def find(self, name: str) -> str | None:
        """Return the path of a program; None if it is not installed."""
        return shutil.which(name, path=os.pathsep.join(self.search_path()))

    def find_in(self, directory: str, name: str) -> str | None:
        """Return the path of a program in one directory."""
        return shutil.which(name, path=directory)

    def ask(self, argv: list[str], *, cwd: Path = Path("/"), extra: Mapping[str, str] | None = None) -> str:
        """Return the output of a program that succeeds; raises NoAnswer.

        The default directory is not the project's: a tool can run programs that a project names.
        """
        status, output, error = self._run(argv, cwd, extra or {})
        if status:
            last = error.strip().rpartition("\n")[2]
            raise NoAnswer(
                f"{_name(argv)} exited with {status}: {last}"
                if last
                else f"{_name(argv)} exited with {status}"
            )
        return output

    def ask_error(self, argv: list[str], *, extra: Mapping[str, str]) -> str:
        """Return the error output, whatever the exit status is; raises NoAnswer."""
        return self._run(argv, Path("/"), extra)[2]

    def _run(self, argv: list[str], cwd: Path, extra: Mapping[str, str]) -> tuple[int, str, str]:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise NoAnswer(f"{_name(argv)}: other questions took all the time")
        try:
            ended = run_tool(argv, env={**self.environ, **extra}, cwd=str(cwd), timeout_seconds=left)
        except (OSError, ToolTimeout) as error:
            raise NoAnswer(f"{_name(argv)}: {error}") from error
        return ended.status, ended.stdout.decode("utf-8", "replace"), ended.stderr.decode("utf-8", "replace")


def _name(argv: list[str]) -> str:
    """Return the command in short; a program text is not repeated."""
    words = [Path(argv[0]).name, *(word for word in argv[1:4] if "\n" not in word)]
    return " ".join(words)

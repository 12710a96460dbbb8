"""Lists the agent programs and finds them: by variable, settings, PATH, or the paths of installers."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import AgentUnavailable
from ostler.process.protocol import CommandRunner, ProgramFinder


class Search(Struct, frozen=True):
    """The path of a program, or None and the places that were searched."""

    path: str | None
    searched: tuple[str, ...] = ()
    refused: str = ""  # what is at the configured path but cannot be run, and why
    advice: str = ""  # how to make it run
    variable: str = ""  # the variable that names the path; empty: none is set


def find_program(
    name: str,
    command: str = "",
    environ: Mapping[str, str] | None = None,
    search_paths: tuple[str, ...] = (),
    program: str = "",
) -> Search:
    """Find a program by its name; a variable or command that is set is used, even when it is wrong."""
    environ = os.environ if environ is None else environ
    variable = path_variable(name)
    if chosen := environ.get(variable):
        return replace(_only(chosen, f"{variable}={chosen}", environ), variable=variable)
    program = program or name
    command = command or program
    if "/" in command:
        return _only(command, command, environ)
    if found := shutil.which(command, path=environ.get("PATH", os.defpath)):
        return Search(make_direct(found))
    fallbacks = search_paths if command == program else ()
    return _first_of(fallbacks, (f"{command} on PATH",), environ)


def require_program(search: Search, name: str, hint: str) -> str:
    """Return the path, or raise AgentUnavailable with the places that were searched and a hint."""
    if search.refused:
        raise AgentUnavailable(search.refused, search.advice)
    if search.path is None:
        searched = ", ".join(search.searched)
        raise AgentUnavailable(f"{name} was not found; searched: {searched}", hint)
    return search.path


def search_with(runner: CommandRunner, command: str) -> Search | None:
    """Return what the runner found, None when programs are searched on this machine."""
    if not isinstance(runner, ProgramFinder):
        return None
    return Search(runner.find_program(command), (f"{command} with {type(runner).__name__}",))


def path_variable(name: str) -> str:
    """Return the variable that names a program, such as OSTLER_CLAUDE_PATH."""
    return f"OSTLER_{re.sub(r'[^A-Za-z0-9]', '_', name).upper()}_PATH"


def _only(path: str, label: str, environ: Mapping[str, str]) -> Search:
    if found := _executable(path, environ):
        return Search(found)
    file = _expand_home(path, environ)
    if file.is_dir():
        advice = f"name a file instead of the directory {path}, such as {path.rstrip('/')}/agent"
        return Search(None, (label,), f"{label} is a directory", advice)
    if file.exists():
        return Search(None, (label,), f"{label} is not executable", f"run chmod +x {shlex.quote(str(file))}")
    return Search(None, (label,))


def _first_of(paths: tuple[str, ...], searched: tuple[str, ...], environ: Mapping[str, str]) -> Search:
    for path in paths:
        if found := _executable(path, environ):
            return Search(found)
    return Search(None, (*searched, *paths))


def _executable(path: str, environ: Mapping[str, str]) -> str | None:
    expanded = _expand_home(path, environ)
    is_executable = expanded.is_file() and os.access(expanded, os.X_OK)
    return make_direct(str(expanded)) if is_executable else None


def make_direct(program: str) -> str:
    """Return the absolute path without "..": a sandbox does not have the directory before it."""
    path = Path(program).absolute()
    return str(path.parent.resolve() / path.name if ".." in path.parts else path)


def _expand_home(path: str, environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME", "")
    return Path(home, path[2:]) if path.startswith("~/") and home else Path(path)


class AgentProgram(Struct, frozen=True):
    """An agent program: its name, how to install it, and where to find it."""

    name: str  # of its executor, and in its variable OSTLER_<NAME>_PATH
    install: str  # the command that installs it
    command: str = ""  # the name of the program; empty: that of its executor
    install_paths: tuple[str, ...] = ()  # where its own installer puts it
    tested_version: str = ""  # the version that the tests run; empty: not tested
    login_command: str = ""  # the command with which a user logs in
    login_check_args: tuple[str, ...] = ()  # of the command that checks the login; empty: there is none

    @property
    def program(self) -> str:
        """The name of the program."""
        return self.command or self.name

    @property
    def search_paths(self) -> tuple[str, ...]:
        """Where to search after PATH, in this order."""
        directories = ("~/.local/bin", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin")
        return (*self.install_paths, *(f"{directory}/{self.program}" for directory in directories))

    @property
    def install_tested_version(self) -> str:
        """The command that installs the tested version; empty when there is none."""
        pinned = self.tested_version and self.install.startswith("npm ")
        return f"{self.install}@{self.tested_version}" if pinned else ""

    def find(self, environ: Mapping[str, str] | None = None, command: str = "", instance: str = "") -> Search:
        """Find the program: the variable and the command of this instance precede those of its type."""
        if instance not in ("", self.name):
            places, program = (self.search_paths, self.program) if command else ((), "")
            own = find_program(instance, command, environ, places, program)
            if command or own.variable or own.path is not None:
                return own
        return find_program(self.name, command, environ, self.search_paths, program=self.program)

    def require(
        self,
        command: str = "",
        instance: str = "",
        runner: CommandRunner | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> str:
        """Return the path, or raise AgentUnavailable with the command that installs the program."""
        elsewhere = search_with(runner, command or self.program) if runner else None
        found = elsewhere or self.find(environ, command, instance)
        return require_program(found, self.program, self.describe_fix(found, command, instance))

    def describe_fix(self, search: Search, command: str = "", instance: str = "") -> str:
        """Return what makes a program usable that was not found."""
        install = f"install it with: {self.install}"
        named = search.variable or (f"executors.{instance or self.name}.command" if "/" in command else "")
        return search.advice or (f"correct {named}, or {install}" if named else install)


def _npm(
    name: str, package: str, tested: str, login: str, path: str = "", check: tuple[str, ...] = ()
) -> AgentProgram:
    return AgentProgram(
        name=name,
        install=f"npm install -g {package}",
        install_paths=(path,) if path else (),
        tested_version=tested,
        login_command=login,
        login_check_args=check,
    )


CLAUDE = _npm(
    "claude",
    "@anthropic-ai/claude-code",
    "2.1.325",
    "claude auth login",
    "~/.claude/local/claude",
    ("auth", "status"),
)
CODEX = _npm("codex", "@openai/codex", "0.166.0", "codex login", check=("login", "status"))
GEMINI = _npm("gemini", "@google/gemini-cli", "0.61.0", "gemini")
QWEN = _npm("qwen", "@qwen-code/qwen-code", "0.15.10", "qwen auth")
OPENCODE = _npm("opencode", "opencode-ai", "1.18.33", "opencode auth login", "~/.opencode/bin/opencode")
COPILOT = _npm("copilot", "@github/copilot", "1.0.102", "copilot login")
# The npm and PyPI packages of this name are from other authors: only Cursor's own installer has the program.
CURSOR = AgentProgram(
    "cursor",
    "curl https://cursor.com/install -fsS | bash",
    "cursor-agent",
    login_command="cursor-agent login",
)

PROGRAMS = (CLAUDE, CODEX, GEMINI, QWEN, OPENCODE, COPILOT, CURSOR)
"""All agent programs, in the order in which `ostler init` prefers them."""

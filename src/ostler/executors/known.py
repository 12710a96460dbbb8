"""The agent programs that Ostler knows: what they are called, how they are installed, where to look."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct

from ostler.executors.discover import Search, find_program, require_program
from ostler.process.tool import ToolTimeout, run_tool


class KnownProgram(Struct, frozen=True):
    name: str  # of its executor, and of its variable OSTLER_<NAME>_PATH
    install: str  # one command
    command: str = ""  # what the program is called; empty: the same as its executor
    own_places: tuple[str, ...] = ()  # where its own installer puts it

    @property
    def program(self) -> str:
        return self.command or self.name

    @property
    def places(self) -> tuple[str, ...]:
        """Where to look when PATH has nothing, the most likely first."""
        usual = ("~/.local/bin", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin")
        return (*self.own_places, *(f"{place}/{self.program}" for place in usual))

    def find(self, environ: Mapping[str, str] | None = None, command: str = "", instance: str = "") -> Search:
        """Look for the variable of this instance first, then as for every agent of this kind."""
        if instance not in ("", self.name) and not command:
            own = find_program(instance, environ=environ)
            if own.path is not None:
                return own
        return find_program(self.name, command, environ, self.places, usual=self.program)

    def require(self, command: str = "", instance: str = "") -> str:
        """The program's path, or AgentUnavailable with the command that installs it."""
        found = self.find(command=command, instance=instance)
        return require_program(found, self.program, f"install it with: {self.install}")


def _npm(name: str, package: str, *own_places: str) -> KnownProgram:
    return KnownProgram(name, f"npm install -g {package}", own_places=own_places)


CLAUDE = _npm("claude", "@anthropic-ai/claude-code", "~/.claude/local/claude")
CODEX = _npm("codex", "@openai/codex")
GEMINI = _npm("gemini", "@google/gemini-cli")
QWEN = _npm("qwen", "@qwen-code/qwen-code")
OPENCODE = _npm("opencode", "opencode-ai", "~/.opencode/bin/opencode")
COPILOT = _npm("copilot", "@github/copilot")
# npm and PyPI packages of this name are other people's: only Cursor's own installer has the program.
CURSOR = KnownProgram("cursor", "curl https://cursor.com/install -fsS | bash", "cursor-agent")

PROGRAMS = (CLAUDE, CODEX, GEMINI, QWEN, OPENCODE, COPILOT, CURSOR)
"""In the order in which `ostler init` prefers them."""


def version(path: str, env: Mapping[str, str] | None = None) -> str:
    """What `--version` prints first, or an empty string when there is no answer within 5 s."""
    try:
        done = run_tool([path, "--version"], env=dict(env or os.environ), cwd="/", timeout_seconds=5.0)
    except (OSError, ToolTimeout):
        return ""
    said = done.stdout.decode("utf-8", "replace").strip()
    return said.partition("\n")[0] if done.status == 0 else ""

"""The agent programs that Ostler knows: what they are called, how they are installed, where to look."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ostler.executors.discover import Search, find_program, require_program


class KnownProgram(Struct, frozen=True):
    name: str  # of its executor, and of its variable OSTLER_<NAME>_PATH
    install: str  # one command
    command: str = ""  # what the program is called; empty: the same as its executor
    own_places: tuple[str, ...] = ()  # where its own installer puts it
    proved: str = ""  # the version that our tests drive; empty: never tried here
    login: str = ""  # what a person types to log in
    login_check: tuple[str, ...] = ()  # arguments with which it says whether someone is; empty: no way to ask

    @property
    def program(self) -> str:
        return self.command or self.name

    @property
    def places(self) -> tuple[str, ...]:
        """Where to look when PATH has nothing, the most likely first."""
        usual = ("~/.local/bin", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin")
        return (*self.own_places, *(f"{place}/{self.program}" for place in usual))

    @property
    def install_proved(self) -> str:
        """One command for the version that was proved; empty where there is none."""
        pinned = self.proved and self.install.startswith("npm ")
        return f"{self.install}@{self.proved}" if pinned else ""

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


def _npm(
    name: str, package: str, proved: str, login: str, place: str = "", check: tuple[str, ...] = ()
) -> KnownProgram:
    own = (place,) if place else ()
    install = f"npm install -g {package}"
    return KnownProgram(name, install, own_places=own, proved=proved, login=login, login_check=check)


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
# npm and PyPI packages of this name are other people's: only Cursor's own installer has the program.
CURSOR = KnownProgram(
    "cursor", "curl https://cursor.com/install -fsS | bash", "cursor-agent", login="cursor-agent login"
)

PROGRAMS = (CLAUDE, CODEX, GEMINI, QWEN, OPENCODE, COPILOT, CURSOR)
"""In the order in which `ostler init` prefers them."""

"""Keys of agents: in which variable or file each is, and the header that carries it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, OstlerError
from ostler.process.tool import ToolTimeout, run_tool
from ostler.sandbox.home.contents import Table
from ostler.sandbox.home.tables import read_table

_MAX_FILE = 4 << 20
_HELPER_SECONDS = 300.0  # as claude itself
_HELPER_LIMIT_SECONDS = 30.0

Headers = dict[str, str]
ReadHeaders = Callable[[], Mapping[str, str]]


class Key(Struct, frozen=True):
    """A variable that holds a key."""

    variable: str
    header: str
    prefix: str = ""  # of the header's value


BEARER = "Bearer "


def read_keys(env: Mapping[str, str], keys: tuple[Key, ...]) -> Headers:
    """Return the headers of the keys that are set."""
    return {key.header: f"{key.prefix}{env[key.variable]}" for key in keys if env.get(key.variable)}


def select_keys(env: Mapping[str, str], keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Return the first key that is set, as an agent does that prefers one over the other."""
    return next(((key,) for key in keys if env.get(key.variable)), ())


def fixed(headers: Mapping[str, str]) -> ReadHeaders:
    """Return a function for keys that do not change during an attempt."""
    return lambda: headers


class KeyHelper:
    """A command of the user that prints a key; it runs outside the sandbox, at most every five minutes."""

    def __init__(self, command: str, env: Mapping[str, str]) -> None:
        self._command = command
        self._env = env
        self._until = 0.0
        self._key = ""
        self._lock = threading.Lock()

    def __call__(self) -> Headers:
        """Return the headers; raise AUTH_FAILED when the command fails."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._key, self._until = self._run(), time.monotonic() + _HELPER_SECONDS
        return {"x-api-key": self._key, "authorization": f"{BEARER}{self._key}"}

    def _run(self) -> str:
        try:
            argv = ["/bin/sh", "-c", self._command]
            done = run_tool(argv, env=dict(self._env), cwd="/", timeout_seconds=_HELPER_LIMIT_SECONDS)
        except (OSError, ToolTimeout) as error:
            raise OstlerError(Code.AUTH_FAILED, f"apiKeyHelper failed: {error}", "run it by hand") from error
        key = done.stdout.decode("utf-8", "replace").strip()
        if done.status != 0 or not key:
            raise OstlerError(Code.AUTH_FAILED, f"apiKeyHelper failed with {done.status}", "run it by hand")
        return key


def read_file(path: Path) -> Table:
    """Return a JSON or TOML file of the user; empty without one."""
    try:
        with path.open("rb") as file:
            return read_table(path.name, file.read(_MAX_FILE)) or {}
    except OSError:
        return {}


def parse_header_lines(text: str) -> Headers:
    """Return the headers of a variable with lines such as `Name: value`."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs if name.strip()}


def read_variables(path: Path) -> dict[str, str]:
    """Return the variables of a .env file of the user; empty without one."""
    try:
        with path.open("rb") as file:
            lines = file.read(_MAX_FILE).decode("utf-8", "replace").splitlines()
    except OSError:
        return {}
    pairs = (line.strip().removeprefix("export ").partition("=") for line in lines if "=" in line)
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs if name[:1] != "#"}

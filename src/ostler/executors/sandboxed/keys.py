"""Keys of agents: in which variable or file each is, and the header that carries it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from ostler.sandbox.home.contents import Table
from ostler.sandbox.home.tables import read_table

_MAX_FILE = 4 << 20

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

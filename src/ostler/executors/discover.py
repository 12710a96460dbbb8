"""Where an agent's program is: the environment, the settings, PATH, then the places installers use."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ostler.errors import AgentUnavailable


class Search(Struct, frozen=True):
    """A program's path, or None and every place that was looked at."""

    path: str | None
    searched: tuple[str, ...] = ()


def find_program(
    name: str,
    command: str = "",
    environ: Mapping[str, str] | None = None,
    places: tuple[str, ...] = (),
    usual: str = "",
) -> Search:
    """Look for a program, `usual` or its name. What a person named is used or refused, never passed over."""
    environ = os.environ if environ is None else environ
    variable = path_variable(name)
    if chosen := environ.get(variable):
        return _only(chosen, f"{variable}={chosen}", environ)
    usual = usual or name
    command = command or usual
    if "/" in command:
        return _only(command, command, environ)
    if found := shutil.which(command, path=environ.get("PATH", os.defpath)):
        return Search(found)
    known = places if command == usual else ()
    return _first_of(known, (f"{command} on PATH",), environ)


def require_program(search: Search, name: str, hint: str) -> str:
    """The path, or AgentUnavailable with the places searched and the way out."""
    if search.path is None:
        places = ", ".join(search.searched)
        raise AgentUnavailable(f"{name} was not found; looked for {places}", hint)
    return search.path


def path_variable(name: str) -> str:
    """OSTLER_CLAUDE_PATH for claude."""
    return f"OSTLER_{re.sub(r'[^A-Za-z0-9]', '_', name).upper()}_PATH"


def _only(path: str, label: str, environ: Mapping[str, str]) -> Search:
    found = _executable(path, environ)
    refused = f"{label}, which is not executable" if _spelled_out(path, environ).exists() else label
    return Search(found, () if found else (refused,))


def _first_of(places: tuple[str, ...], searched: tuple[str, ...], environ: Mapping[str, str]) -> Search:
    for place in places:
        if found := _executable(place, environ):
            return Search(found)
    return Search(None, (*searched, *places))


def _executable(path: str, environ: Mapping[str, str]) -> str | None:
    spelled = _spelled_out(path, environ)
    runs = spelled.is_file() and os.access(spelled, os.X_OK)
    return str(spelled.absolute()) if runs else None


def _spelled_out(path: str, environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME", "")
    return Path(home, path[2:]) if path.startswith("~/") and home else Path(path)

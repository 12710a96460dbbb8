"""The indexes of pip: its settings files as it finds them itself, its variables and its default."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ostler.sandbox.network.indexes.found import Found, Index, join_found
from ostler.sandbox.network.indexes.settings_file import Unreadable, clean_settings, read_settings
from ostler.sandbox.network.indexes.tools import NoAnswer, Tools
from ostler.sandbox.network.indexes.user_file import copy_values

# One process: the import of pip takes most of the time.
_QUESTION = """
import importlib.util, runpy, sys
if importlib.util.find_spec("pip") is None:
    sys.exit(0)
from pip._internal.models.index import PyPI
print("default:", PyPI.simple_url, flush=True)
sys.argv = ["pip", "config", "debug"]
runpy.run_module("pip", run_name="__main__")
"""
_DEFAULT = re.compile(r"(?m)^default: (\S+)$")
_LEVEL = re.compile(r"(\w+):")
_FILE = re.compile(r"\s+(/.*), exists: (?:True|False)")
_MAX_PROGRAMS = 4
_ON = frozenset(("1", "true", "yes", "on", "y", "t"))
Values = dict[str, dict[str, str]]


def find_pip(tools: Tools) -> Found:
    """Return the indexes of pip."""
    programs = _list_pythons(tools)
    notes: list[str] = []
    for program in programs:
        try:
            answer = tools.ask(
                [program, "-c", _QUESTION],
                # The shims of pyenv choose the version by the directory.
                extra={"PYENV_DIR": str(tools.cwd), "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            )
        except NoAnswer as error:
            notes.append(f"pip was not asked for its index: {error}")
            continue
        if answer:  # pip is installed
            default = _DEFAULT.search(answer)
            return _read_files(_list_files(answer), default[1] if default else "", tools)
    if not notes:
        return Found()
    places = (
        ("global", Path("/etc/pip.conf")),
        ("user", tools.home / ".pip" / "pip.conf"),
        ("user", _own_file(tools)),
    )
    # The default index stays unknown.
    return join_found([_read_files(places, "", tools), Found(notes=tuple(notes), failed=True)])


def _list_pythons(tools: Tools) -> list[str]:
    environment = tools.environ.get("VIRTUAL_ENV")
    own = str(Path(environment, "bin", "python")) if environment else ""
    names = [own if own and os.access(own, os.X_OK) else None, tools.find("python3"), tools.find("python")]
    # The interpreter of an environment without pip is followed by that of the system.
    names += [tools.find_in(place, "python3") for place in tools.search_path()]
    return list(dict.fromkeys(name for name in names if name))[:_MAX_PROGRAMS]


def _own_file(tools: Tools) -> Path:
    return tools.config_home / "pip" / "pip.conf"


def _read_files(levels: Sequence[tuple[str, Path]], default: str, tools: Tools) -> Found:
    notes: list[str] = []
    merged, copied = _merge(levels, notes)
    found = _find_indexes(merged, tools, default)
    watched = tuple(path for _, path in levels)
    parts = [copy_values(_own_file(tools), "ini", copied, found) if copied else found]
    return join_found([*parts, Found(watched=watched, notes=tuple(notes))])


def _list_files(answer: str) -> list[tuple[str, Path]]:
    """Return level and path of each file, in the order in which pip reads them."""
    found: dict[str, list[Path]] = {}
    level = ""
    for line in answer.splitlines():
        if match := _LEVEL.fullmatch(line):
            level = match[1]
        elif match := _FILE.fullmatch(line):
            found.setdefault(level, []).append(Path(match[1]))
    return [(name, path) for name in ("global", "user", "site", "env") for path in found.get(name, [])]


def _merge(levels: Iterable[tuple[str, Path]], notes: list[str]) -> tuple[Values, Values]:
    """Return the effective values, and those without the files of the environment, which is mounted."""
    every: Values = {}
    copied: Values = {}
    for level, path in levels:
        try:
            values = read_settings(path, "ini")
        except Unreadable as error:
            notes.append(str(error))
            continue
        if level == "site" and clean_settings(values)[1]:
            notes.append(f"{path} holds a password, which programs in the sandbox can read")
        for merged in (every,) if level == "site" else (every, copied):
            for section, keys in cast("Values", values).items():
                merged.setdefault(section, {}).update(keys)
    return every, copied


def _find_indexes(values: Values, tools: Tools, default: str) -> Found:
    variables = read_variables(tools.environ, "PIP_")
    # A variable replaces the value of a file, for every command.
    sections = [{**section, **variables} for section in (values or {"global": {}}).values()]
    if _is_on({**values.get("global", {}), **variables}.get("no-index", "")):
        return join_found(read_options({"find-links": one.get("find-links", "")}, tools) for one in sections)
    found = [read_options(section, tools) for section in sections]
    if default and "index-url" not in {**values.get("global", {}), **variables}:
        found.append(Found((Index("python", default),)))
    return join_found(found)


def _is_on(value: str) -> bool:
    return value.lower() in _ON


def read_variables(environ: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the options that variables set, by the names of the options."""
    return {
        name[len(prefix) :].lower().replace("_", "-"): value
        for name, value in environ.items()
        if name.startswith(prefix) and value
    }


def read_options(options: Mapping[str, Any], tools: Tools) -> Found:
    """Return what the options of pip name: index-url, extra-index-url, find-links and cert."""
    urls = [*_words(options.get("index-url")), *_words(options.get("extra-index-url"))]
    indexes = [Index("python", url) for url in urls if "://" in url]
    links = _words(options.get("find-links"))
    indexes += [Index("links", url) for url in links if "://" in url]
    paths = tuple(tools.locate(one) for one in links if "://" not in one)
    return Found(tuple(indexes), paths, tuple(_words(options.get("cert"))))


def _words(value: Any) -> list[str]:
    """Return the words of a text or of a list of texts."""
    texts = cast("list[object]", value) if isinstance(value, list) else [value]
    return [word for text in texts if isinstance(text, str) for word in text.split()]

"""The indexes of uv, Poetry, PDM and Pipenv, and those in requirements files of the project."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ostler.sandbox.network.indexes.found import Found, Index, join_found
from ostler.sandbox.network.indexes.pip import read_options, read_variables
from ostler.sandbox.network.indexes.tools import NoAnswer, Tools
from ostler.sandbox.network.indexes.user_file import read_other_file, read_user_file

_NAMED = re.compile(r"[\w.-]+=(?=\w+://)")  # UV_INDEX=NAME=URL
_UV_DEFAULT = re.compile(r"--default-index[^\[]*?[Bb]y default:?\s*<?(https?://[^\s>)\]]+)", re.DOTALL)
_OPTION = re.compile(r"(?m)^\s*(?:--(index-url|extra-index-url|find-links)|-(i|f))[\s=]+(\S+)")
_SHORT = {"i": "index-url", "f": "find-links"}
_UV_SYSTEM = Path("/etc/uv/uv.toml")
_MAX_BYTES = 1024 * 1024


def find_python_project(tools: Tools) -> Found:
    """Return the indexes that uv and the files of the project name."""

    def read_uv(values: Mapping[str, Any]) -> Found:
        return _read_uv(values, tools)

    files = [
        read_user_file(tools.config_home / "uv" / "uv.toml", "toml", read_uv, system=_UV_SYSTEM),
        read_other_file(tools.cwd / "uv.toml", "toml", read_uv),
        read_other_file(tools.cwd / "pyproject.toml", "toml", lambda values: _read_manifest(values, tools)),
        read_other_file(tools.cwd / "Pipfile", "toml", _read_sources),
    ]
    if named := tools.environ.get("UV_CONFIG_FILE"):
        files.append(read_user_file(tools.locate(named), "toml", read_uv))
    return join_found([*files, *_read_requirements(tools), _read_uv_variables(tools)])


def find_uv_default(tools: Tools) -> Found:
    """Return the default index of uv; it is asked only where pip gave none."""
    program = tools.find("uv")
    if program is None:
        return Found()
    try:
        match = _UV_DEFAULT.search(tools.ask([program, "help", "pip", "install"]))
    except NoAnswer as error:
        return Found(notes=(f"uv was not asked for its index: {error}",), failed=True)
    return (
        Found((Index("python", match[1].rstrip(".")),))
        if match
        else Found(notes=("uv named no default index",))
    )


def _read_manifest(values: Mapping[str, Any], tools: Tools) -> Found:
    tool = _table(values.get("tool"))
    poetry, pdm = _table(tool.get("poetry")), _table(tool.get("pdm"))
    return join_found([_read_uv(_table(tool.get("uv")), tools), _read_sources(poetry), _read_sources(pdm)])


def _read_uv(values: Mapping[str, Any], tools: Tools) -> Found:
    parts = [read_options(values, tools), read_options(_table(values.get("pip")), tools)]
    urls = [one.get("url") for one in _tables(values.get("index"))]
    return join_found([*parts, *(_read_index(url, tools) for url in urls if isinstance(url, str))])


def _read_index(url: str, tools: Tools) -> Found:
    """Return an index of uv, which can be a directory."""
    if "://" in url:
        return Found((Index("python", url),))
    return Found(paths=(tools.locate(url),))


def _read_sources(values: Mapping[str, Any]) -> Found:
    """Return the `[[source]]` tables of Poetry, PDM and Pipenv."""
    urls = [one.get("url") for one in _tables(values.get("source"))]
    return Found(tuple(Index("python", url) for url in urls if isinstance(url, str) and "://" in url))


def _read_uv_variables(tools: Tools) -> Found:
    options = read_variables(tools.environ, "UV_")
    urls = [
        _NAMED.sub("", url) for name in ("index", "default-index") for url in options.get(name, "").split()
    ]
    return join_found([read_options(options, tools), *(_read_index(url, tools) for url in urls)])


def list_requirements(cwd: Path) -> list[Path]:
    """Return the requirements files of the project."""
    return sorted(cwd.glob("*requirements*.txt"))


def _read_requirements(tools: Tools) -> Iterator[Found]:
    for path in list_requirements(tools.cwd):
        try:
            with path.open("rb") as file:
                text = file.read(_MAX_BYTES).decode("utf-8", "replace")
        except OSError as error:
            yield Found(watched=(path,), notes=(f"{path} is not readable: {error}",))
            continue
        options = [(match[1] or _SHORT[match[2]], match[3]) for match in _OPTION.finditer(text)]
        yield join_found(
            [Found(watched=(path,)), *(read_options({name: value}, tools) for name, value in options)]
        )


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _tables(value: Any) -> list[dict[str, Any]]:
    return [_table(one) for one in cast("list[Any]", value)] if isinstance(value, list) else []

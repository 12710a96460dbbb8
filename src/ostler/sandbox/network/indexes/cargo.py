"""The registries of Cargo."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ostler.sandbox.network.indexes.found import Found, Index, join_found
from ostler.sandbox.network.indexes.tools import NoAnswer, Tools
from ostler.sandbox.network.indexes.user_file import read_other_file, read_user_file

_NAMES = ("config.toml", "config")
_ASKED = re.compile(
    r"(?:from|access|reach|url)\s*[`'=]\s*(?:sparse\+)?(https?://[^\s`']+?)(?:config\.json)?[`']"
)
_INDEX_VARIABLE = re.compile(r"CARGO_REGISTRIES_\w+_INDEX|CARGO_SOURCE_\w+_REGISTRY")
# Cargo has no command that prints its default registry: its error names the page that it asks for first.
# A proxy that refuses each connection keeps it from the network.
_NO_NETWORK = {"CARGO_HTTP_PROXY": "http://127.0.0.1:9", "CARGO_NET_RETRY": "0", "CARGO_NET_OFFLINE": "false"}


def find_cargo(tools: Tools) -> Found:
    """Return the registries of Cargo; its default one only where no source replaces it."""
    own = Path(tools.environ.get("CARGO_HOME") or tools.home / ".cargo")
    above = [tools.cwd, *tools.cwd.parents]

    replaced = bool(tools.environ.get("CARGO_SOURCE_CRATES_IO_REPLACE_WITH"))

    def read(values: Mapping[str, Any]) -> Found:
        nonlocal replaced
        replaced = replaced or "replace-with" in _table(_table(values.get("source")).get("crates-io"))
        return _read_config(values, tools)

    found = [read_user_file(own / name, "toml", read) for name in _NAMES]
    found += [
        read_other_file(one / ".cargo" / name, "toml", read)
        for one in above
        for name in _NAMES
        if one / ".cargo" != own
    ]
    variables = [value for name, value in tools.environ.items() if _INDEX_VARIABLE.fullmatch(name)]
    found.append(join_found(_read_url(value, tools) for value in variables))
    program = tools.find("cargo")
    return join_found([*found, _ask(program, tools)] if program and not replaced else found)


def _ask(program: str, tools: Tools) -> Found:
    try:
        answer = tools.ask_error([program, "search", "--registry", "crates-io", "x"], extra=_NO_NETWORK)
    except NoAnswer as error:
        return Found(notes=(f"cargo was not asked for its registry: {error}",), failed=True)
    match = _ASKED.search(answer)
    if match is None:
        return Found(notes=("cargo named no registry",))
    return Found((Index("cargo", match[1]),))


def _read_config(values: Mapping[str, Any], tools: Tools) -> Found:
    registries = [one.get("index") for one in _tables(values.get("registries"))]
    sources = _tables(values.get("source"))
    urls = registries + [one.get(key) for one in sources for key in ("registry", "git")]
    names = [one.get(key) for one in sources for key in ("local-registry", "directory")]
    paths = tuple(tools.locate(name) for name in names if isinstance(name, str))
    trusted = _table(values.get("http")).get("cainfo")
    certificates = (trusted,) if isinstance(trusted, str) else ()
    found = [_read_url(url, tools) for url in urls if isinstance(url, str)]
    return join_found([*found, Found(paths=paths, certificates=certificates)])


def _read_url(url: str, tools: Tools) -> Found:
    plain = url.removeprefix("sparse+").removeprefix("registry+")
    return Found((Index("cargo", plain),)) if "://" in plain else Found(paths=(tools.locate(plain),))


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _tables(value: Any) -> list[dict[str, Any]]:
    return [_table(one) for one in _table(value).values()]

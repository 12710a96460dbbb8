"""The indexes of Go, RubyGems and Conda."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ostler.sandbox.network.indexes.found import Found, Index, Kind, join_found
from ostler.sandbox.network.indexes.settings_file import Unreadable, read_settings
from ostler.sandbox.network.indexes.tools import NoAnswer, Tools
from ostler.sandbox.network.indexes.user_file import copy_values, read_user_file

_GO = ("GOPROXY", "GOSUMDB", "GONOSUMDB", "GOENV")
_OFF = frozenset(("off", "direct", ""))
_MIRROR = "BUNDLE_MIRROR__"
_SOURCE = re.compile(r"""(?m)^\s*source[\s(]+["'](\w+://[^"']+)["']""")
_MAX_BYTES = 1024 * 1024


def find_go(tools: Tools) -> Found:
    """Return the module proxies of Go and its database of checksums."""
    program = tools.find("go")
    if program is None:
        return Found()
    try:
        answer = tools.ask([program, "env", "-json", *_GO])
        values = msgspec.json.decode(answer, type=dict[str, str])
    except (NoAnswer, msgspec.MsgspecError) as error:
        return Found(notes=(f"go was not asked for its proxy: {error}",), failed=True)
    proxies = [one.strip() for one in re.split("[,|]", values.get("GOPROXY", ""))]
    urls = [one for one in proxies if one not in _OFF]
    words = values.get("GOSUMDB", "").split()  # NAME, or NAME+KEY with or without URL
    if words and words[0] not in _OFF:
        urls.append(words[-1] if "://" in words[-1] else f"https://{words[0].partition('+')[0]}")
    notes = ("GOPROXY has direct: hosts of modules are not allowed, add them to sandbox.allow_hosts",)
    found = Found(tuple(Index("go", url) for url in urls), notes=notes if "direct" in proxies[:1] else ())
    settings = values.get("GOENV", "")
    own = read_user_file(tools.locate(settings), "pairs", _nothing) if settings not in _OFF else Found()
    return join_found([found, own])


def find_gem(tools: Tools) -> Found:
    """Return the sources of RubyGems, of the Gemfile, and the mirrors of Bundler."""
    found = [
        read_user_file(tools.home / ".gemrc", "yaml", _nothing),
        _read_gemfile(tools),
        _read_bundler(tools),
    ]
    if program := tools.find("gem"):
        try:
            answer = tools.ask([program, "sources", "--list"])
            found.append(_list_urls("gem", answer.split()))
        except NoAnswer as error:
            found.append(Found(notes=(f"gem was not asked for its sources: {error}",), failed=True))
    return join_found(found)


def _read_gemfile(tools: Tools) -> Found:
    path = tools.cwd / "Gemfile"
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return Found(watched=(path,))
    return join_found([_list_urls("gem", _SOURCE.findall(text)), Found(watched=(path,))])


def _read_bundler(tools: Tools) -> Found:
    """Return the mirrors of Bundler; its other keys are host names with passwords as values."""
    path = tools.home / ".bundle" / "config"
    try:
        values = {key: value for key, value in read_settings(path, "yaml").items() if key.startswith(_MIRROR)}
    except Unreadable as error:
        return Found(watched=(path,), notes=(str(error),))
    found = _list_urls("gem", [str(value) for value in values.values()])
    variables = [value for name, value in tools.environ.items() if name.startswith(_MIRROR)]
    copied = copy_values(path, "yaml", values, found) if values else Found(watched=(path,))
    return join_found([copied, _list_urls("gem", variables)])


def find_conda(tools: Tools) -> Found:
    """Return the channels of Conda."""
    own = read_user_file(tools.home / ".condarc", "yaml", _nothing)
    program = tools.find("conda") or tools.find("mamba") or tools.find("micromamba")
    if program is None:
        return own
    try:
        answer = tools.ask([program, "config", "--show", "--json"])
        values = msgspec.json.decode(answer, type=dict[str, Any])
    except (NoAnswer, msgspec.MsgspecError) as error:
        return join_found(
            [own, Found(notes=(f"conda was not asked for its channels: {error}",), failed=True)]
        )
    return join_found([own, _read_channels(values)])


def _read_channels(values: Mapping[str, Any]) -> Found:
    alias = "".join(_list_texts(values.get("channel_alias"))).rstrip("/")
    texts = _list_texts([values.get(key) for key in ("channels", "default_channels", "custom_channels")])
    names = [one for one in _list_texts(values.get("channels")) if "://" not in one and one != "defaults"]
    return _list_urls("conda", [*texts, *(f"{alias}/{name}" for name in names if alias)])


def _list_texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for one in cast("list[Any]", value) for text in _list_texts(one)]
        case {"scheme": str() as scheme, "location": str() as location, **rest}:
            return [f"{scheme}://{location}/{rest.get('name') or ''}"]
        case dict():
            return [text for one in cast("dict[str, Any]", value).values() for text in _list_texts(one)]
        case _:
            return []


def _list_urls(kind: Kind, texts: list[str]) -> Found:
    return Found(tuple(Index(kind, text) for text in texts if "://" in text))


def _nothing(values: Mapping[str, Any]) -> Found:
    """Return nothing: the tool itself is asked."""
    return Found()

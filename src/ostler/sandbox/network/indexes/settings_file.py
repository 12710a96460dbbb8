"""Settings files of the tools: read, and written again without secrets."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from configparser import Error as IniError
from configparser import RawConfigParser
from io import StringIO
from pathlib import Path
from typing import Any, Literal, cast

from ostler.config.literal import quote, to_toml
from ostler.errors import OstlerError
from ostler.files.yaml_writer import write_yaml_value
from ostler.sandbox.network.indexes.address import has_secret, hide_secrets
from ostler.secrets.variables import is_secret_name

Format = Literal["ini", "pairs", "words", "toml", "yaml"]
"""`pairs`: lines KEY=VALUE; `words`: lines KEY "VALUE"."""

_MAX_BYTES = 1024 * 1024
_BOOLEANS = frozenset(("true", "false"))
# The sandbox has a proxy and directories of its own.
_NOT_INSIDE = re.compile(
    r"(?i)(?:^|[-_.:/])(?:(?:https?[-_]?)?proxy|no-?proxy|proxy_servers|cache|cache[-_]?(?:dir|folder)"
    r"|store-dir|logs-dir|pkgs_dirs|envs_dirs|credential[-_]provider|keyring-provider)$"
)
_PROXY = re.compile(r"(?i)(?:https?[-_]?)?proxy|proxy_servers")
_MORE_SECRETS = re.compile(r"(?i)(?:auth|ident|otp|pass|secret|token|password|apikey)\d*$")
_PAIR = re.compile(r"([^=\s][^=]*?)\s*=\s*(.*?)\s*")
_WORDS = re.compile(r"\"?([^\s\"]+)\"?\s+\"?([^\"]*)\"?\s*")


class Unreadable(Exception):
    """The file is not readable, or not in its format."""


def read_settings(path: Path, form: Format) -> dict[str, Any]:
    """Return the values of a file; nothing if there is no file; raises Unreadable."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path} is not readable: {error}") from error
    try:
        return parse_settings(text, form, str(path))
    except (IniError, tomllib.TOMLDecodeError, OstlerError, RecursionError) as error:
        raise Unreadable(f"{path} has an error in its format, and is left out") from error


def parse_settings(text: str, form: Format, where: str = "") -> dict[str, Any]:
    """Return the values of a text."""
    match form:
        case "ini":
            parser = RawConfigParser(strict=False)
            parser.read_string(text)
            return {name: dict(parser.items(name)) for name in parser.sections()}
        case "toml":
            return tomllib.loads(text)
        case "yaml":
            from ostler.files.yaml import read_yaml  # noqa: PLC0415  (few projects have such a file)

            value = read_yaml(text, where).value
            return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        case "pairs" | "words":
            return _read_lines(text, _PAIR if form == "pairs" else _WORDS)


def _read_lines(text: str, line_form: re.Pattern[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in text.splitlines():
        match = line_form.fullmatch(line.strip())
        if match is None or line.lstrip()[:1] in ("#", ";"):
            continue
        key, value = match[1], match[2].strip("\"'")
        if key.endswith("[]"):
            found.setdefault(key, []).append(value)
        else:
            found[key] = value
    return found


def write_settings(values: Mapping[str, Any], form: Format) -> bytes:
    """Return the values in the format of the file."""
    match form:
        case "ini":
            parser = RawConfigParser()
            parser.read_dict({name: dict(section) for name, section in values.items()})
            text = StringIO()
            parser.write(text)
            return text.getvalue().encode()
        case "toml":
            return "".join(_write_toml(values)).encode()
        case "yaml":
            return "".join(_write_yaml(values, "")).encode()
        case "pairs":
            return "".join(f"{key}={one}\n" for key, one in _list_pairs(values)).encode()
        case "words":
            return "".join(f'{key} "{one}"\n' for key, one in _list_pairs(values)).encode()


def _write_toml(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each key: tables are written inline."""
    return (f"{quote(key)} = {to_toml(value)}\n" for key, value in values.items())


def _write_yaml(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Yield block style: the reader of RubyGems has no other."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{key}:\n"
            yield from _write_yaml(cast("Mapping[str, Any]", value), indent + "  ")
        elif isinstance(value, list) and value:
            yield f"{indent}{key}:\n"
            yield from (f"{indent}- {write_yaml_value(one)}\n" for one in cast("list[object]", value))
        else:
            yield f"{indent}{key}: {write_yaml_value(cast('object', value))}\n"


def _list_pairs(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        for one in cast("list[str]", value) if isinstance(value, list) else [str(value)]:
            yield key, one


def clean_settings(values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the values without secrets, proxies and caches, and the keys that held a secret."""
    left: list[str] = []
    cleaned = _clean(values, "", left)
    return cast("dict[str, Any]", cleaned), tuple(left)


def names_proxy(values: Mapping[str, Any]) -> bool:
    """Return whether a key of the file, or of a table in it, names a proxy."""
    for key, value in values.items():
        if isinstance(value, Mapping) and names_proxy(cast("Mapping[str, Any]", value)):
            return True
        if value and _PROXY.fullmatch(key):
            return True
    return False


def _clean(value: object, name: str, left: list[str]) -> object:
    match value:
        case Mapping():
            pairs = cast("Mapping[str, object]", value).items()
            kept = {key: _clean(one, f"{name}.{key}" if name else key, left) for key, one in pairs}
            return {key: one for key, one in kept.items() if one is not None}
        case list():
            items = [_clean(one, name, left) for one in cast("list[object]", value)]
            return [one for one in items if one is not None]
        case _ if _NOT_INSIDE.search(name):
            return None
        case _:
            return _clean_value(value, name, left)


def _clean_value(value: object, name: str, left: list[str]) -> object:
    text = str(value)
    cleaned = hide_secrets(text)
    if is_secret_key(name) and text.lower() not in _BOOLEANS:
        left.append(name)
        return None
    if has_secret(cleaned):
        left.append(name)
        return None
    if cleaned == text:
        return value
    left.append(f"user and password in {name}")
    return cleaned


def is_secret_key(name: str) -> bool:
    """Return whether a key of this name holds a secret."""
    last = re.split(r"[.:/]", name)[-1]
    return is_secret_name(last.replace("-", "_")) or _MORE_SECRETS.search(last) is not None

"""Reads the values of a file of secrets: JSON, YAML, .env, .npmrc, .netrc, properties, or lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from ostler.lazy import lazy_pattern
from ostler.secrets.variables import is_ordinary

_COMMENT = lazy_pattern(r"\s*(?:#|;|//(?!.*=)|--+\s|-----(?:BEGIN|END) |\W+$)|\s*\[[^\]]*\]\s*$")
_ASSIGNED = lazy_pattern(
    r"\s*(?:export\s+|set\s+|-\s+)?"
    r"(?:(?P<quote>[\"'])(?P<quoted>[^\"']{1,200})(?P=quote)|(?P<plain>[\w./@:$-]{1,200}?))"
    r"\s*(?:=(?!=*\s*$)|:=|:(?=\s))\s*(?P<value>.*\S)\s*$"
)
_NETRC = lazy_pattern(r"\s*(?:machine|default|login|account|password)\s")
_NETRC_PASSWORD = lazy_pattern(r"(?:^|\s)(?P<name>password|account)\s+(?P<value>\S+)")
_ELEMENT = lazy_pattern(r"\s*<(?P<name>[\w.:-]+)>(?P<value>[^<]+)</")
_ADDRESS_PASSWORD = lazy_pattern(r"://[^\s/:@]*:(?P<value>[^\s/@]+)@")
_BLOCK = lazy_pattern(r"[|>][+-]?\d*|[\[{]+,?|[}\])]+[,;]?")  # the value follows in the next lines
_PLAIN = "password"  # a line without a name is the secret itself


class FileValue(NamedTuple):
    """A value of a file of secrets."""

    name: str  # empty: the value is a line
    value: str

    @property
    def is_ordinary(self) -> bool:
        """Whether the value is found in text that has nothing to do with the file."""
        return is_ordinary(self.name or _PLAIN, self.value)


def read_values(text: str) -> list[FileValue]:
    """Return the values of a file; of one without names, the lines and the whole text."""
    found = _read_json(text)
    if found is None:
        found = [value for line in text.splitlines() for value in _read_line(line)]
        if not any(one.name for one in found):
            found.append(FileValue("", text.strip()))
    passwords = (
        FileValue(one.name, match["value"]) for one in found if (match := _ADDRESS_PASSWORD.search(one.value))
    )
    return [*dict.fromkeys((*found, *passwords))]


def _read_json(text: str) -> list[FileValue] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [*_walk("", value)] if isinstance(value, dict | list) else None


def _walk(name: str, value: Any) -> Iterator[FileValue]:
    match value:
        case dict():
            for key, item in cast("dict[str, Any]", value).items():
                yield from _walk(key, item)
        case list():
            for item in cast("list[Any]", value):
                yield from _walk(name, item)
        case str() if value.strip():
            yield FileValue(name or "value", value.strip())
        case _:
            return


def _read_line(line: str) -> Iterator[FileValue]:
    if not line.strip() or _COMMENT.match(line):
        return
    if _NETRC.match(line):
        yield from (FileValue(one["name"], one["value"]) for one in _NETRC_PASSWORD.finditer(line))
    elif found := _ELEMENT.match(line):
        yield FileValue(found["name"], found["value"].strip())
    elif found := _ASSIGNED.match(line):
        name = found["quoted"] or re.split(r"[/:]", found["plain"])[-1]
        value = _strip_value(found["value"])
        if value and not _BLOCK.fullmatch(value):
            yield FileValue(name or _PLAIN, value)
    else:
        yield from _read_plain(line.strip())


def _read_plain(line: str) -> Iterator[FileValue]:
    """Yield a line; of NAME:VALUE, as in .pgpass, also the last part."""
    item = _strip_value(line.removeprefix("- ").strip())
    yield FileValue("", item)
    name, _, last = item.rpartition(":")
    if name and last and "//" not in item and not re.search(r"\s", item):
        yield FileValue("", last)


def _strip_value(text: str) -> str:
    """Return the text without quotation marks, a comment after it, and the separator at its end."""
    mark = text[:1]
    if mark in ("'", '"') and (end := _find_quote(text, mark)) > 0:
        inner = text[1:end]
        return (
            inner.replace("\\" + mark, mark).replace("\\\\", "\\")
            if mark == '"'
            else inner.replace("''", "'")
        )
    return re.split(r"\s+#", text, maxsplit=1)[0].rstrip().removesuffix(",")


def _find_quote(text: str, mark: str) -> int:
    """Return where the quotation ends; -1 if it does not."""
    form = r'"(?:\\.|[^"\\])*+"' if mark == '"' else r"'(?:''|[^'])*+'"
    found = re.match(form, text)
    return found.end() - 1 if found else -1

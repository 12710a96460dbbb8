"""Rules for the settings of a cluster that concern several of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import urlsplit

from ostler.config.layer import ConfigError, LayerValues
from ostler.config.source import DEFAULT, KeyPath, format_key

_POSTGRES = ("postgres://", "postgresql://")
_S3 = "s3://"
_HOST_PORT = re.compile(r"([^\s:/@]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")


def find_cluster_mistakes(reading: LayerValues) -> Iterator[ConfigError]:
    """Yield an error for each value that lacks another one."""
    for path, reason in (*_find_incomplete(reading), *_find_invalid(reading)):
        key = format_key(path)
        yield ConfigError(reading.sources.get(key, DEFAULT), key, reason)


def _find_incomplete(reading: LayerValues) -> Iterator[tuple[KeyPath, str]]:
    is_cluster = _text(reading, "engine", "kind") == "temporal"
    if is_cluster and not _text(reading, "store", "url").startswith(_POSTGRES):
        yield ("engine", "kind"), '"temporal" needs store.url = "postgresql://HOST/NAME"'
    if is_cluster and not (_text(reading, "blobs", "url") or _get(reading, "engine", "shared_root") is True):
        yield ("engine", "kind"), '"temporal" needs blobs.url, or engine.shared_root = true'
    for present, missing in (("tls_cert", "tls_key"), ("tls_key", "tls_cert")):
        if _text(reading, "engine", present) and not _text(reading, "engine", missing):
            yield ("engine", present), f"it needs engine.{missing}"
    for name in ("endpoint", "region"):
        if _text(reading, "blobs", name) and not _text(reading, "blobs", "url").startswith(_S3):
            yield ("blobs", name), 'it needs blobs.url = "s3://BUCKET"'


def _find_invalid(reading: LayerValues) -> Iterator[tuple[KeyPath, str]]:
    address = _HOST_PORT.fullmatch(_text(reading, "engine", "address") or "localhost:7233")
    if address is None or not 0 < int(address[2]) < 1 << 16:
        yield (
            ("engine", "address"),
            'expected HOST:PORT without a scheme, such as "temporal.example.com:7233"',
        )
    endpoint = _text(reading, "blobs", "endpoint")
    if endpoint and (reason := explain_invalid_endpoint(endpoint)):
        yield ("blobs", "endpoint"), reason


def explain_invalid_endpoint(url: str) -> str:
    """Return why this is not the URL of an S3 server; empty if it is one. The text has no part of the URL."""
    expected = "expected a URL without user and password, such as http://HOST:PORT or https://HOST"
    try:
        scheme, place, path, *rest = urlsplit(url)
        port = urlsplit(url).port
    except ValueError:
        return expected
    is_url = scheme in ("http", "https") and re.fullmatch(r"[^\s@]+", place) and port != 0
    return "" if is_url and not any(rest) and not re.search(r"\s", path) else expected


def _text(reading: LayerValues, section: str, name: str) -> str:
    value = _get(reading, section, name)
    return value if isinstance(value, str) else ""


def _get(reading: LayerValues, section: str, name: str) -> Any:
    """Return a value that a layer sets; None when it is missing or refused, which is another error."""
    return cast("dict[str, Any]", reading.values.get(section) or {}).get(name)

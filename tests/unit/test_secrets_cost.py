"""The cost of a search for secrets grows with the length of the text, whatever an agent writes."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

import ostler.secrets
from ostler.secrets.redact import redact_bytes
from ostler.secrets.registry import SECRETS
from ostler.secrets.rules import RULES, compiled_form
from ostler.secrets.stream import RedactingStream

SIZES = (5_000, 10_000, 20_000)
SPACES = (" ", "\t", "\n", "A ", "\nAb", "A: b\n")
ESCAPES = ("\\", "\\n", "\\'", "\\/", "%2B", "\x1b[3")
WORDS = ('"', "a", "=", "-", "1;", "aB3/", "-eyJ", ".eyJ", "://", "-----BEGIN ")
UNITS = (*SPACES, *ESCAPES, *WORDS)
KEY = "-----BEGIN " + "PRIVATE KEY-----"
SLOW_SECONDS = 0.1  # of the processor; a quadratic search of the longest text takes more


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """One registered secret: its search reads the text without spaces."""
    SECRETS.clear()
    SECRETS.register([("ACME", "canary+S3cr3t/Val&ue=91x")])
    yield
    SECRETS.clear()


def seconds(search: Callable[[bytes], object], data: bytes) -> float:
    begun = time.process_time()
    search(data)
    return time.process_time() - begun


def require_linear(make: Callable[[int], bytes], search: Callable[[bytes], object], name: object) -> None:
    """Fail when four times the text takes far more than four times as long; a fast search passes at once."""
    times = [min(seconds(search, make(SIZES[-1])) for _ in range(2))]
    if times[0] < SLOW_SECONDS:
        return
    times = [min(seconds(search, make(size)) for _ in range(2)) for size in SIZES]
    assert times[2] < 8 * max(times[0], 0.005), (name, times)


def list_patterns() -> list[tuple[str, re.Pattern[Any]]]:
    """Return every expression of the package, also those that are compiled on first use."""
    found: list[tuple[str, re.Pattern[Any]]] = []
    for info in pkgutil.iter_modules(ostler.secrets.__path__, "ostler.secrets."):
        for name, value in vars(importlib.import_module(info.name)).items():
            made = value() if hasattr(value, "cache_info") and name != "compiled_form" else value
            if isinstance(made, re.Pattern):
                found.append((f"{info.name}.{name}", cast("re.Pattern[Any]", made)))
    forms = [(word, compiled_form(word.encode())) for rule in RULES for word in rule.keywords]
    return [*found, *forms]


def test_every_expression_takes_linear_time() -> None:
    """After its own keyword, and after the first line of a private key."""
    patterns = list_patterns()
    assert len(patterns) > 200
    for name, pattern in patterns:
        for unit in UNITS:
            for first in {name, KEY} if "ostler.secrets" not in name else {KEY, ""}:
                whole = f"{first}{unit * (SIZES[-1] // len(unit))}!"
                data = whole if isinstance(pattern.pattern, str) else whole.encode()
                begun = time.process_time()
                pattern.match(data)
                assert time.process_time() - begun < SLOW_SECONDS, (name, unit)


@pytest.mark.parametrize("unit", UNITS)
def test_every_text_takes_linear_time(unit: str) -> None:
    """Alone and after the first line of a private key; at once and in chunks."""
    for first in ("", KEY, f"{KEY}\n", "eyJaaaaaaaa.", "Bearer ", "://a:"):
        for search in (redact_bytes, feed) if first in ("", KEY) else (redact_bytes,):
            require_linear(
                lambda size, first=first: f"{first}{unit * (size // len(unit))}!".encode(), search, first
            )


def feed(data: bytes) -> None:
    stream = RedactingStream()
    for at in range(0, len(data), 8192):
        stream.feed(data[at : at + 8192])
    stream.finish()


def test_the_check_finds_a_quadratic_search() -> None:
    """The control: this expression reads each run of backslashes again for each of them."""
    slow = re.compile(rb"\\+x")
    with pytest.raises(AssertionError):
        require_linear(lambda size: b"\\" * (size * 3 // 2), slow.search, "slow")


def test_a_secret_in_a_long_text_needs_little_memory() -> None:
    """The offsets of one block are computed, not those of all bytes."""
    data = b"The quick brown fox jumps over the lazy dog.\n" * 60_000 + b"canary+S3cr3t/ Val&ue=91x\n"
    tracemalloc.start()
    clean = redact_bytes(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert clean.endswith(b"dog.\n[redacted:ACME]\n") and peak < 6 * len(data)

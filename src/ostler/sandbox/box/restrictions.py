"""Starts a program that restricts itself first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ostler.sandbox.box import restrict
from ostler.sandbox.box.bubblewrap import find_interpreter


class Rules(Struct, frozen=True):
    """What Landlock allows."""

    readable: tuple[str, ...]
    writable: tuple[str, ...]
    ports: tuple[int, ...] | None = ()  # that it may connect to; None: the network is not restricted


class Restrictions(Struct, frozen=True):
    """What a program gives up before it starts."""

    rlimits: Mapping[str, int] = {}
    landlock: Rules | None = None
    filters: tuple[bytes, ...] = ()  # of system calls


def wrap_with_restrictions(restrictions: Restrictions) -> tuple[str, ...]:
    """Return the arguments before those of the program."""
    return (find_interpreter(), "-I", "-S", restrict.__file__, encode_restrictions(restrictions))


def encode_restrictions(restrictions: Restrictions) -> str:
    """Return the text that `restrict` reads: one restriction per line."""
    return "\n".join(f"{word} {_escape(value)}" for word, value in _list_lines(restrictions))


def _list_lines(restrictions: Restrictions) -> Iterator[tuple[str, str]]:
    for name, value in restrictions.rlimits.items():
        yield "limit", f"{name}={value}"
    if rules := restrictions.landlock:
        yield "landlock", ""
        yield from (("readable", one) for one in rules.readable)
        yield from (("writable", one) for one in rules.writable)
        if rules.ports is None:
            yield "network", ""
        else:
            yield from (("port", str(one)) for one in rules.ports)
    for one in restrictions.filters:
        yield "filter", one.hex()


def _escape(value: str) -> str:
    return value.replace("%", "%p").replace("\n", "%n")

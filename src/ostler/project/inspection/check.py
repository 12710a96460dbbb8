"""One check of `ostler doctor`."""

from __future__ import annotations

from msgspec import Struct


class Check(Struct, frozen=True):
    name: str
    ok: bool
    detail: str
    fix: str = ""
    required: bool = True
    state: str = ""  # of an agent: its health, drift or logged_out
    more: tuple[str, ...] = ()  # further lines

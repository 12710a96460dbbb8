"""Reads the limits of an account from the session file of codex, which has them after each answer."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.json import Decoder

from ostler.errors import PathEscape
from ostler.executors.agent_json import decode_json
from ostler.files.paths import open_beneath
from ostler.model.limits.names import QUOTA, name_length
from ostler.model.limits.numbers import read_length, read_share, read_time
from ostler.model.limits.window import ReportedWindow

_MAX_TAIL = 1 << 20  # bytes at the end of the file that are searched
_MAX_FOLDERS = 400  # one per day
_MARK = b'"rate_limits"'
_THREAD_ID = re.compile(r"[A-Za-z0-9-]{1,100}")


class _Window(Struct, frozen=True):
    used_percent: float | None = None
    window_minutes: float | None = None
    resets_at: float | None = None
    resets_in_seconds: float | None = None  # older versions


class RateLimits(Struct, frozen=True):
    """The windows of an account, as codex stores them."""

    primary: _Window | None = None
    secondary: _Window | None = None


class _Payload(Struct, frozen=True):
    rate_limits: RateLimits | None = None


class _Line(Struct, frozen=True):
    timestamp: str = ""
    payload: _Payload = _Payload()


_LINE = Decoder(_Line)


def read_session_windows(env: Mapping[str, str], session_id: str, since: float) -> tuple[ReportedWindow, ...]:
    """Return the last windows that codex stored for a session since this time; empty without any."""
    home = _home(env)
    path = _find_file(home / "sessions", session_id)
    lines = _read_tail(home, path) if path else []
    for line in reversed(lines):
        if _MARK in line and (windows := _read_line(line, since)):
            return windows
    return ()


def _read_line(line: bytes, since: float) -> tuple[ReportedWindow, ...]:
    entry = decode_json(_LINE, line)
    at = _parse_time(entry.timestamp) if entry else None
    limits = entry.payload.rate_limits if entry else None
    if limits is None or at is None or at < since:
        return ()
    return report_windows(limits, at)


def report_windows(limits: RateLimits, at: float) -> tuple[ReportedWindow, ...]:
    """Return the windows; the name follows from the length."""
    return tuple(_report(one, at) for one in (limits.primary, limits.secondary) if one is not None)


def _report(window: _Window, at: float) -> ReportedWindow:
    seconds = None if window.window_minutes is None else read_length(window.window_minutes * 60)
    reset = window.resets_at
    if reset is None and window.resets_in_seconds is not None:
        reset = at + window.resets_in_seconds
    return ReportedWindow(
        name_length(seconds) if seconds else QUOTA,
        None if window.used_percent is None else read_share(window.used_percent / 100),
        read_time(reset, at),
        seconds=seconds,
        source="file",
    )


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("CODEX_HOME") or Path(env.get("HOME") or Path.home()) / ".codex")


def _find_file(sessions: Path, session_id: str) -> Path | None:
    """Return the file of a session in sessions/YEAR/MONTH/DAY, the newest days first."""
    if not _THREAD_ID.fullmatch(session_id):
        return None
    folders = sorted(sessions.glob("[0-9]*/[0-9]*/[0-9]*"), reverse=True)[:_MAX_FOLDERS]
    found = (path for folder in folders for path in folder.glob(f"rollout-*-{session_id}.jsonl"))
    return next(found, None)


def _read_tail(home: Path, path: Path) -> list[bytes]:
    try:
        # An agent in a sandbox may replace its files by links and pipes.
        with os.fdopen(open_beneath(home, str(path.relative_to(home)), os.O_RDONLY), "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MAX_TAIL))
            return file.read(_MAX_TAIL).splitlines()
    except (OSError, PathEscape):
        # Removed meanwhile, or not readable: the text of a rejection has the time, too.
        return []


def _parse_time(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None

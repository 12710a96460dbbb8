"""Answers of package tools and indexes that the next run of the user can use: files in the user's cache.

A question costs a run up to a second of CPU time. Nothing with a secret is kept.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.user_cache import find_user_cache
from ostler.sandbox.network.indexes.address import has_secret, hide_secrets

SECONDS = 3600.0  # a setting that no watched file names takes effect after this time
_FORM = 1  # of the answers; another one is asked for again
_DIRECTORY = Path("ostler", "package-indexes")
_MAX_BYTES = 4 * 1024 * 1024
_T = TypeVar("_T")


class _File(Struct, frozen=True):
    form: int
    asked_at: float
    answer: msgspec.Raw


def read_kept(environ: Mapping[str, str], question: object, type: type[_T]) -> tuple[_T, float] | None:
    """Return the answer of an earlier run and its age in seconds; None if there is no current one."""
    path = _find_file(environ, question)
    if path is None:
        return None
    try:
        found = msgspec.json.decode(_read_own(path), type=_File)
        age = time.time() - found.asked_at
        if found.form != _FORM or not 0 <= age < SECONDS:
            return None
        return msgspec.json.decode(found.answer, type=type, dec_hook=_decode), age
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _read_own(path: Path) -> bytes:
    """Return the content of a file of this user: others may write to the directory of XDG_CACHE_HOME."""

    def open_file(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)

    with open(path, "rb", opener=open_file) as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
            raise PermissionError(f"{path} is not a file of this user")
        return file.read(_MAX_BYTES)


def keep(environ: Mapping[str, str], question: object, answer: object) -> None:
    """Keep an answer for later runs; without a cache directory, or with an error, they ask again."""
    path = _find_file(environ, question)
    if path is None:
        return
    try:
        file = _File(_FORM, time.time(), msgspec.Raw(msgspec.json.encode(answer, enc_hook=str)))
        make_private_dir(path.parent, durable=False)
        write_projection(path, msgspec.json.encode(file))
        _remove_old(path.parent)
    except (OSError, OstlerError, UnicodeEncodeError):
        return


def _remove_old(directory: Path) -> None:
    """Delete what no run uses any more: the name depends on variables, which may never be the same again."""
    for path in directory.iterdir():
        if time.time() - path.stat().st_mtime > SECONDS:
            path.unlink(missing_ok=True)


def is_public(text: str) -> bool:
    """Return whether a URL or the value of a variable holds no secret."""
    return hide_secrets(text) == text and not has_secret(text)


def _find_file(environ: Mapping[str, str], question: object) -> Path | None:
    cache = find_user_cache(environ)
    if cache is None:
        return None
    try:
        asked = msgspec.json.encode(question, enc_hook=str, order="deterministic")
    except UnicodeEncodeError:  # JSON has no form for a path or a variable that is not UTF-8
        return None
    return cache / _DIRECTORY / f"{hashlib.sha256(asked).hexdigest()[:32]}.json"


def _decode(type: type[Any], value: object) -> Any:
    if type is not Path or not isinstance(value, str):
        raise NotImplementedError(type)
    return Path(value)

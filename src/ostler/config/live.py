"""Settings that follow their files: a changed file is read again at the next use."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from ostler.config.find import PROJECT_FILE, user_file
from ostler.errors import SettingsInvalid
from ostler.secrets.registry import SECRETS

if TYPE_CHECKING:
    from ostler.config.cluster import StoreSettings
    from ostler.config.load import Loaded

_Stamp = tuple[tuple[int, ...] | None, ...]
_STORE_NAMES = ("OSTLER_STORE__", "STORE.")  # how variables and flags that set [store] begin
_STORE_LINE = re.compile(rb"""^\s*\[?\s*["']?store\b""", re.MULTILINE)
_MAX_KEYS = 5  # changed settings that the message names


class LiveSettings:
    """The settings of a project; an invalid file keeps the values that were read before it."""

    def __init__(self, root: Path, environ: Mapping[str, str], flags: Mapping[str, object]) -> None:
        self._root = root
        self._environ = environ
        self._flags = flags
        self._files: tuple[Path, ...] | None = None  # None: not located yet
        self._lock = Lock()
        self._stamp: _Stamp | None = None
        self._loaded: Loaded | None = None
        self._is_invalid = False  # the files; the values of before are in use
        self.print_message: Callable[[str], None] | None = None  # called once per change of a file

    def read(self) -> Loaded:
        """Return the settings of this moment; raise SettingsInvalid if none were valid so far."""
        with self._lock:
            stamp = self._read_stamps()
            if self._loaded is not None and stamp == self._stamp:
                return self._loaded
            loaded = self._loaded = self._reload(self._loaded)
            self._stamp = stamp
        # Without the lock: the registry calls this method while it holds its own.
        self._register_secrets(loaded)
        return loaded

    def read_store(self) -> StoreSettings | None:
        """Return [store]; None if nothing sets it: a list of tasks then needs no settings."""
        names = (*self._environ, *self._flags)
        is_set = any(name.upper().startswith(_STORE_NAMES) for name in names)
        return self.read().settings.store if is_set or any(map(_sets_store, self._list_files())) else None

    def _read_stamps(self) -> _Stamp:
        return tuple(_read_stamp(path) for path in self._list_files())

    def _list_files(self) -> tuple[Path, ...]:
        if self._files is None:
            files = (user_file(self._environ), self._root / PROJECT_FILE)
            self._files = tuple(path for path in files if path is not None)
        return self._files

    def _reload(self, before: Loaded | None) -> Loaded:
        from ostler.config.load import load_settings  # noqa: PLC0415

        try:
            loaded = load_settings(self._root, self._environ, self._flags)
        except SettingsInvalid as error:
            if before is None:
                raise
            self._is_invalid = True
            mistakes = "; ".join(error.mistakes)
            self._print(f"the settings are invalid, and the previous ones stay in use: {mistakes}")
            return before
        changed = [] if before is None else _list_changed(before, loaded)
        if changed:
            self._print(f"the settings changed: {_describe(changed)}")
        elif self._is_invalid:
            self._print("the settings are valid again; none of them changed")
        self._is_invalid = False
        return loaded

    def _register_secrets(self, loaded: Loaded) -> None:
        from ostler.config.secrets.registered_secrets import list_registered_secrets  # noqa: PLC0415

        SECRETS.register(list_registered_secrets(loaded.settings, self._environ, self._root))

    def list_secrets(self) -> tuple[()]:
        """Register the secrets of valid settings when something is redacted; return nothing more."""
        with suppress(SettingsInvalid):
            self.read()
        return ()

    def _print(self, message: str) -> None:
        if self.print_message is not None:
            self.print_message(message)


def _read_stamp(path: Path) -> tuple[int, ...] | None:
    """Return what changes with the content of a file; None if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _sets_store(path: Path) -> bool:
    """Return whether a file may have a table [store]; reading it costs less than loading the settings."""
    try:
        return _STORE_LINE.search(path.read_bytes()) is not None
    except OSError:
        return False


def _list_changed(before: Loaded, after: Loaded) -> list[str]:
    from ostler.config.source import format_key, list_values  # noqa: PLC0415

    old = {format_key(path): value for path, value in list_values(before.settings)}
    new = {format_key(path): value for path, value in list_values(after.settings)}
    changed = [key for key in dict.fromkeys((*old, *new)) if old.get(key) != new.get(key)]
    # An empty table is a value of its own; the keys that were added to it are enough.
    return [key for key in changed if not any(other.startswith(f"{key}.") for other in changed)]


def _describe(keys: list[str]) -> str:
    more = f" and {len(keys) - _MAX_KEYS} more" if len(keys) > _MAX_KEYS else ""
    return ", ".join(keys[:_MAX_KEYS]) + more

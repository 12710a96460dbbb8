"""The environments of a user on disk: built beside their place, then renamed, read-only afterwards.

A lock per key: exclusive to build or delete an environment, shared to use it. Lock files are not deleted.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.lock import LockHandle, try_lock, try_shared_lock
from ostler.files.user_cache import find_user_cache
from ostler.sandbox.environments.recipe import PROJECT, NoEnvironment, Recipe
from ostler.sandbox.environments.sealed import Seal, make_read_only, read_seal, remove_sealed

_DIRECTORY = Path("ostler", "environments")
_SEAL = ".seal"  # suffixes of files beside an environment
_LOCK = ".lock"
_FAILED = ".failed"
_BUILD = ".build-"
_RETRY_SECONDS = 600.0  # after a failed build
_MEGABYTE = 1_000_000


class CachedEnvironment(Struct, frozen=True):
    """An environment that is complete."""

    key: str
    path: Path
    size_bytes: int
    used_at: float


def open_cache(environ: Mapping[str, str]) -> EnvironmentCache:
    """Return the cache of the user; raises NoEnvironment without a home directory."""
    home = find_user_cache(environ)
    if home is None:
        raise NoEnvironment("there is no directory for caches: HOME is not set")
    return EnvironmentCache(home / _DIRECTORY)


def remove_unused_environments(environ: Mapping[str, str]) -> list[CachedEnvironment]:
    """Delete the environments that no gate uses now, and return them."""
    home = find_user_cache(environ)
    return EnvironmentCache(home / _DIRECTORY).remove_unused() if home is not None else []


class EnvironmentCache:
    """All environments below one directory."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def lock_to_use(self, key: str) -> LockHandle | None:
        """Return a shared lock; None while the environment is built or deleted."""
        make_private_dir(self._root)
        return try_shared_lock(self._root / f"{key}{_LOCK}")

    def lock_to_build(self, key: str) -> LockHandle | None:
        """Return the exclusive lock; None while the environment is built, used or deleted."""
        make_private_dir(self._root)
        return try_lock(self._root / f"{key}{_LOCK}")

    def find(self, key: str) -> CachedEnvironment | None:
        """Return an environment whose files are as they were built; the caller has a lock."""
        seal = self._read_seal(key)
        path = self._root / key
        if seal is None or not path.is_dir() or read_seal(path) != seal:
            return None
        os.utime(self._root / f"{key}{_SEAL}")  # the time of the last use
        return CachedEnvironment(key, path, seal.size_bytes, time.time())

    def start_build(self, recipe: Recipe) -> Path:
        """Return a new directory with the files of the recipe; what a killed build left is deleted."""
        for left in [*self._root.glob(f"{recipe.key}{_BUILD}*"), self._root / recipe.key]:
            remove_sealed(left)
        build = self._root / f"{recipe.key}{_BUILD}{os.urandom(4).hex()}"
        make_private_dir(build)
        for name, data in recipe.files.items():
            place = build / PROJECT / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        return build

    def publish(self, key: str, build: Path) -> None:
        """Make the build read-only and rename it to its place."""
        make_read_only(build)
        # The seal comes first: a directory without a matching seal is not used.
        write_projection(self._root / f"{key}{_SEAL}", msgspec.json.encode(read_seal(build)))
        build.rename(self._root / key)
        (self._root / f"{key}{_FAILED}").unlink(missing_ok=True)

    def record_failure(self, key: str, build: Path, reason: str) -> None:
        """Delete the build; the reason is reported without a new attempt for some minutes."""
        remove_sealed(build)
        write_projection(self._root / f"{key}{_FAILED}", reason.encode("utf-8", "replace"))

    def find_failure(self, key: str) -> str:
        """Return why the last build failed; empty if another attempt is due."""
        path = self._root / f"{key}{_FAILED}"
        try:
            age = time.time() - path.stat().st_mtime
            return path.read_text("utf-8", "replace") if 0 <= age < _RETRY_SECONDS else ""
        except FileNotFoundError:
            return ""

    def list(self) -> list[CachedEnvironment]:
        """Return all environments, the least recently used first."""
        found: list[CachedEnvironment] = []
        for path in self._root.glob(f"*{_SEAL}"):
            seal = self._read_seal(path.stem)
            with contextlib.suppress(FileNotFoundError):
                if seal is not None:
                    used = path.stat().st_mtime
                    found.append(CachedEnvironment(path.stem, self._root / path.stem, seal.size_bytes, used))
        return sorted(found, key=lambda one: (one.used_at, one.key))

    def remove_until(self, limit_mb: float) -> list[CachedEnvironment]:
        """Delete the least recently used environments until the others need less; used ones are kept."""
        listed = self.list()
        total = sum(one.size_bytes for one in listed)
        removed: list[CachedEnvironment] = []
        for one in listed:
            if total <= limit_mb * _MEGABYTE:
                break
            if self._remove(one.key):
                removed.append(one)
                total -= one.size_bytes
        return removed

    def remove_unused(self) -> list[CachedEnvironment]:
        """Delete all environments that no gate uses, and what killed builds left."""
        removed = [one for one in self.list() if self._remove(one.key)]
        for path in self._root.glob(f"*{_BUILD}*"):
            self._remove(path.name.partition(_BUILD)[0])
        for path in self._root.glob(f"*{_FAILED}"):
            path.unlink(missing_ok=True)
        return removed

    def _remove(self, key: str) -> bool:
        held = self.lock_to_build(key)
        if held is None:
            return False
        with held:
            (self._root / f"{key}{_SEAL}").unlink(missing_ok=True)
            for path in [self._root / key, *self._root.glob(f"{key}{_BUILD}*")]:
                remove_sealed(path)
        return True

    def _read_seal(self, key: str) -> Seal | None:
        try:
            return msgspec.json.decode((self._root / f"{key}{_SEAL}").read_bytes(), type=Seal)
        except (OSError, msgspec.MsgspecError):
            return None

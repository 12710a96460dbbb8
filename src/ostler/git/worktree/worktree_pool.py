"""Keeps the trees of finished tasks, so that the next worktree needs no full checkout.

Only the index that git wrote before anybody used the tree is trusted. Files that differ from it are written
again, everything else in the tree is discarded.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from ostler.config.settings import Settings
from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.boot import read_boot_id
from ostler.git.commit.index import index_environment
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.git.run.safe_config import read_config_entries
from ostler.git.worktree.sanitize import UntrustedTree, sanitize_tree
from ostler.git.worktree.trash import discard, empty_trash, has_trash, run_in_background, wait_for_checkouts
from ostler.process.occupied import is_occupied

POOL_DIRECTORY = ".warm"
MIN_INDEX_BYTES = 64 * 1024  # of an index: smaller trees are checked out faster than cleaned
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# Detect every difference, whatever the repository configures about file modes and times.
_STRICT = {
    "core.fileMode": "true",
    "core.trustctime": "true",
    "core.checkStat": "default",
    "core.ignoreStat": "false",
}
_PAUSE_SECONDS = 0.05
_log = logging.getLogger(__name__)
_CONTENT_SECTIONS = ("core.", "filter.", "extensions.")
_DEFAULT_SETTINGS = {
    "core.repositoryformatversion": "0",
    "core.filemode": "true",
    "core.bare": "false",
    "core.logallrefupdates": "true",
}
_PARTIAL_CHECKOUT_SETTINGS = ("core.sparsecheckout", "extensions.worktreeconfig", "index.sparse")


class WorktreePool(Struct, frozen=True):
    """The directory of the pool and its size."""

    worktrees: Path
    limit: int

    def entry(self, name: str) -> PoolEntry:
        return PoolEntry(self.worktrees / POOL_DIRECTORY / name)


def find_pool(worktrees: Path, settings: Settings) -> WorktreePool:
    """Return the pool of these settings; by default it has a tree for each task that runs."""
    limit = settings.git.warm_worktrees
    return WorktreePool(worktrees, settings.run.jobs if limit is None else limit)


class PoolEntry(Struct, frozen=True):
    """The directory of one worktree or checkout: its manifest while it is in use, and its tree afterwards."""

    path: Path

    @property
    def tree(self) -> Path:
        return self.path / "tree"

    @property
    def claimed(self) -> Path:
        """The tree while a run takes it."""
        return self.path / "claimed"

    @property
    def clean_marker(self) -> Path:
        """Exists if the tree contains only checked-out files."""
        return self.path / "clean"

    @property
    def index(self) -> Path:
        return self.path / "index"

    @property
    def manifest(self) -> Path:
        return self.path / "seal"


class TreeManifest(Struct, frozen=True):
    """How a tree was checked out."""

    commit: str
    rules: str  # settings that affect the content of files
    boot: str  # boot id: trees from before a crash of the machine are not trusted


def record_tree(pool: WorktreePool, name: str, repository: Repository, commit: str) -> None:
    """Record an unused tree, so that it can be kept later."""
    entry = pool.entry(name)
    discard(entry.path, pool.worktrees)
    index = repository.git_dir / "index"
    if not pool.limit or not index.is_file() or index.stat().st_size < MIN_INDEX_BYTES:
        return
    rules = read_checkout_rules(repository)
    if rules is None or not _COMMIT.fullmatch(commit):
        return
    try:
        make_private_dir(entry.path)
        shutil.copy2(index, entry.index)  # keep its time, by which git detects racy changes
        write_projection(entry.manifest, msgspec.json.encode(TreeManifest(commit, rules, read_boot_id())))
    except (OSError, OstlerError) as reason:
        _log.info("%s will not be kept: %s", name, reason)


def park_tree(pool: WorktreePool, tree: Path, name: str) -> bool:
    """Move a tree to the pool by a rename; return False if it is not kept."""
    entry = pool.entry(name)
    if not pool.limit or _read_manifest(entry) is None or tree.is_symlink() or not tree.is_dir():
        return False
    for old in find_available_entries(pool)[pool.limit - 1 :]:
        _drop_entry(old, pool)
    try:
        tree.rename(entry.tree)
    except OSError:  # another file system, or no permission
        return False
    return True


def forget_tree(pool: WorktreePool, name: str) -> None:
    """Remove the record of a tree that is not kept."""
    if not pool.entry(name).tree.exists():
        _drop_entry(pool.entry(name), pool)


def find_available_entries(pool: WorktreePool) -> list[PoolEntry]:
    """Return the entries with an available tree, newest first."""
    entries = [entry for entry in _list_entries(pool) if entry.tree.is_dir() and not entry.tree.is_symlink()]
    return sorted(entries, key=_sort_key)


def find_stale_entries(pool: WorktreePool) -> list[PoolEntry]:
    """Return the entries without a tree and without a worktree."""
    return [
        entry
        for entry in _list_entries(pool)
        if not entry.tree.exists() and not (pool.worktrees / entry.path.name).exists()
    ]


def claim_tree(pool: WorktreePool, name: str, repository: Repository, commit: str) -> PoolEntry | None:
    """Take a kept tree for this commit, cleaned to the checked-out files; None if there is none.

    A rename takes the tree, so that two runs never take the same one.
    """
    for kept in find_available_entries(pool) if pool.limit else []:
        if not _has_same_checkout_rules(kept, repository, commit):
            continue
        was_clean = kept.clean_marker.exists()
        entry = _take_entry(kept, pool.entry(name), pool)
        if entry is not None and _make_usable(entry, repository, pool, was_clean):
            return entry
    return None


def tidy_pool_later(pool: WorktreePool, repository: Repository) -> None:
    """Clean kept trees in advance and empty the trash, in the background."""

    def tidy() -> None:
        for entry in find_available_entries(pool):
            if not entry.clean_marker.exists():
                with suppress(UntrustedTree, OSError, OstlerError):  # checked again when it is claimed
                    _clean_in_advance(entry, repository, pool)
        empty_trash(pool.worktrees, wait_for_checkouts)

    if find_available_entries(pool) or has_trash(pool.worktrees):
        run_in_background(pool.worktrees, tidy)


def install_tree(
    entry: PoolEntry, repository: Repository, commit: str, pass_fds: tuple[int, ...] = ()
) -> None:
    """Move a claimed tree into a repository without files, and reset it to its HEAD, which is this commit."""
    (repository.work_tree / ".git").rename(entry.claimed / ".git")
    repository.work_tree.rmdir()
    entry.claimed.rename(repository.work_tree)
    shutil.copy2(entry.index, repository.git_dir / "index")
    if entry.clean_marker.exists() and _is_unchanged(entry, repository, commit):
        return
    reset = ("reset", "--hard", "--quiet")
    run_git(repository, *reset, settings=_STRICT, timeout_seconds=LONG_SECONDS, pass_fds=pass_fds)


def _list_entries(pool: WorktreePool) -> list[PoolEntry]:
    try:
        return [PoolEntry(path) for path in (pool.worktrees / POOL_DIRECTORY).iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _sort_key(entry: PoolEntry) -> tuple[int, str]:
    try:
        return -entry.path.stat().st_mtime_ns, entry.path.name
    except OSError:
        return 0, entry.path.name  # another run takes it now


def _drop_entry(entry: PoolEntry, pool: WorktreePool) -> None:
    with suppress(FileNotFoundError):  # another run was faster
        discard(entry.path, pool.worktrees)


def _take_entry(kept: PoolEntry, entry: PoolEntry, pool: WorktreePool) -> PoolEntry | None:
    try:
        if kept.path != entry.path:
            discard(entry.path, pool.worktrees)
            kept.path.rename(entry.path)
        entry.tree.rename(entry.claimed)
    except OSError:
        return None  # another run was faster
    return entry


def _make_usable(entry: PoolEntry, repository: Repository, pool: WorktreePool, was_clean: bool) -> bool:
    """Clean a claimed tree and return whether it can be used; a suspicious tree is discarded."""
    try:
        _require_unoccupied(entry.claimed)
        if not was_clean:
            sanitize_tree(entry.claimed, entry.index, repository, pool.worktrees)
    except (UntrustedTree, OSError, OstlerError) as reason:
        _log.info("%s is not used again: %s", entry.path, reason)
        _drop_entry(entry, pool)
        return False
    return True


def _clean_in_advance(entry: PoolEntry, repository: Repository, pool: WorktreePool) -> None:
    """Clean a tree in place; a run that takes it meanwhile finds no marker and cleans it itself."""
    entry_inode, tree = entry.path.stat().st_ino, entry.tree.stat().st_ino
    _require_unoccupied(entry.tree)
    sanitize_tree(entry.tree, entry.index, repository, pool.worktrees)
    _restore_files(entry, repository)
    entry_fd = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if (os.fstat(entry_fd).st_ino, entry.tree.stat().st_ino) == (entry_inode, tree):
            os.close(os.open("clean", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=entry_fd))
    finally:
        os.close(entry_fd)


def _restore_files(entry: PoolEntry, repository: Repository) -> None:
    """Write the files that were changed again, and an index that proves by times that all are unchanged.

    git compares whole seconds, and reads each file of the second in which the index was written.
    """
    manifest = _read_manifest(entry)
    if manifest is None:
        raise UntrustedTree(f"{entry.manifest} cannot be read")
    while int(time.time()) <= int(entry.index.stat().st_mtime):
        time.sleep(_PAUSE_SECONDS)
    tree = structs.replace(repository, work_tree=entry.tree)
    args = ("read-tree", "--reset", "-u", manifest.commit)
    env = index_environment(entry.index)
    run_git(tree, *args, env=env, settings=_STRICT, timeout_seconds=LONG_SECONDS)


def _is_unchanged(entry: PoolEntry, repository: Repository, commit: str) -> bool:
    """Return whether the tree has exactly the files of this commit, by their times."""
    manifest = _read_manifest(entry)
    if manifest is None or manifest.commit != commit:
        return False
    settings = _STRICT | {"core.preloadIndex": "true"}  # in several threads
    return run_git(repository, "diff-files", "--quiet", settings=settings, accept=(0, 1)).status == 0


def _require_unoccupied(tree: Path) -> None:
    if is_occupied(tree):
        raise UntrustedTree("a process still uses it")


def _read_manifest(entry: PoolEntry) -> TreeManifest | None:
    try:
        found = msgspec.json.decode(entry.manifest.read_bytes(), type=TreeManifest)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if found.boot == read_boot_id() else None


def _has_same_checkout_rules(kept: PoolEntry, repository: Repository, commit: str) -> bool:
    """Return whether the same file has the same content in both checkouts."""
    found = _read_manifest(kept)
    if found is None or found.rules != read_checkout_rules(repository):
        return False
    return found.commit == commit or have_same_attributes(repository, found.commit, commit)


def read_checkout_rules(repository: Repository) -> str | None:
    """Return a digest of the settings that affect file content; None for partial checkouts."""
    entries = dict(read_config_entries(repository))
    if any(name in entries for name in _PARTIAL_CHECKOUT_SETTINGS):
        return None
    unusual = {name: text for name, text in entries.items() if name.startswith(_CONTENT_SECTIONS)}
    unusual = {name: text for name, text in unusual.items() if _DEFAULT_SETTINGS.get(name) != text}
    own = repository.common_dir / "info" / "attributes"
    attributes = own.read_text("utf-8", "surrogateescape") if own.is_file() else ""
    if not unusual and not attributes:
        return ""
    return hashlib.sha256(repr((sorted(unusual.items()), attributes)).encode("utf-8", "replace")).hexdigest()


def have_same_attributes(repository: Repository, one: str, other: str) -> bool:
    """Return whether two commits have the same .gitattributes; False if unknown."""
    args = ("diff-tree", "-r", "-z", "--name-only", one, other, "--", ":(glob)**/.gitattributes")
    answer = run_git(repository, *args, accept=(0, 1, 128))
    return answer.status == 0 and not answer.stdout

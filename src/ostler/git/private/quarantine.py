"""Takes over objects that an agent made: copied as data, then packed and checked."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.files.atomic import sync_directory, sync_file
from ostler.files.failpoint import reach
from ostler.git.commit.index import index_environment, is_valid_index
from ostler.git.private.alternates import list_object_directories
from ostler.git.private.config import format_config, is_partial_clone, read_object_format
from ostler.git.private.untrusted import TooLarge, open_untrusted, walk_untrusted
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.git.run.safe_config import read_config_entries
from ostler.git.worktree.trash import erase
from ostler.git.worktree.work_trees import quote_alternate

MAX_BYTES = 4 << 30  # of all objects of a task
_MAX_FILES = 500_000
MAX_INDEX_BYTES = 512 << 20
_LOOSE = re.compile(r"objects/[0-9a-f]{2}/[0-9a-f]{38}([0-9a-f]{24})?")
_PACK = re.compile(r"objects/pack/pack-[0-9a-f]{40}([0-9a-f]{24})?\.pack")
# Larger objects are streams for git; a commit or tree of this size is refused: it would fill the memory.
_STREAMED = "16m"
_MEMORY = {"GIT_ALLOC_LIMIT": "1g"}
_TYPES = ("commit", "tag", "tree", "blob")


class Quarantine(Struct, frozen=True):
    """A repository of its own with the agent's objects; it borrows those of the user."""

    repository: Repository
    is_partial: bool  # the user's repository lacks objects that its remote has

    @property
    def index(self) -> Path:
        return self.repository.git_dir / "index"


@contextmanager
def open_quarantine(place: Path, repository: Repository) -> Generator[Quarantine]:
    """Copy the agent's objects and its index; everything is deleted at the end.

    Raises TooLarge.
    """
    folder = place / "quarantine"
    erase(folder, place)
    (folder / "refs").mkdir(parents=True, mode=0o700)
    entries = read_config_entries(repository)
    made = Quarantine(Repository(folder, folder, folder), is_partial_clone(entries))
    try:
        _write_settings(made, repository, read_object_format(entries))
        _copy_objects(place, made)
        _copy_index(place, made)
        yield made
    finally:
        erase(folder, place)


def _write_settings(made: Quarantine, repository: Repository, object_format: str) -> None:
    folder = made.repository.git_dir
    settings = [
        ("core.repositoryformatversion", "1"),
        ("core.bare", "true"),
        ("core.bigfilethreshold", _STREAMED),
        ("pack.threads", "1"),
        ("extensions.objectformat", object_format),
    ]
    if made.is_partial:
        settings += [("extensions.partialclone", "origin"), ("remote.origin.promisor", "true")]
    (folder / "config").write_bytes(format_config(settings))
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "objects" / "info").mkdir(parents=True)
    (folder / "objects" / "pack").mkdir()
    lines = (quote_alternate(one) for one in list_object_directories(repository.common_dir))
    (folder / "objects" / "info" / "alternates").write_bytes(b"".join(lines))
    if (repository.common_dir / "shallow").is_file():
        shutil.copyfile(repository.common_dir / "shallow", folder / "shallow")


def _copy_objects(place: Path, made: Quarantine) -> None:
    left = MAX_BYTES
    for name in walk_untrusted(place, "objects", max_depth=2, max_entries=_MAX_FILES):
        if _LOOSE.fullmatch(name) or _PACK.fullmatch(name):
            target = made.repository.git_dir / name
            target.parent.mkdir(exist_ok=True)
            left -= _copy_file(place, name, target, left)
            if name.endswith(".pack"):
                _index_pack(made, target)


def _copy_file(root: Path, name: str, target: Path, limit: int) -> int:
    """Copy one regular file and return its size; one that cannot be read is left out."""
    try:
        with open_untrusted(root, name) as source:
            found = os.fstat(source)
            if found.st_size > limit:
                raise TooLarge(f"{name} exceeds the limit of {MAX_BYTES >> 20} MB for all objects")
            with os.fdopen(source, "rb", closefd=False) as file, target.open("wb") as copy:
                shutil.copyfileobj(file, copy)
            # With the modification time: git compares that of the index with the files.
            os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
    except OSError:
        target.unlink(missing_ok=True)
        return 0
    return found.st_size


def _index_pack(made: Quarantine, pack: Path) -> None:
    """Write the index of a pack anew; a pack that git refuses is left out."""
    args = ("index-pack", str(pack))
    if run_git(made.repository, *args, env=_MEMORY, accept=(0, 1, 128), timeout_seconds=LONG_SECONDS).status:
        pack.unlink()


def _copy_index(place: Path, made: Quarantine) -> None:
    _copy_file(place, "git/index", made.index, MAX_INDEX_BYTES)
    if made.index.exists() and not is_valid_index(made.index):
        made.index.unlink()


def find_types(made: Quarantine, names: Iterable[str]) -> dict[str, str]:
    """Return the objects that exist, each with its type."""
    wanted = tuple(dict.fromkeys(names))
    stdin = "".join(f"{name}\n" for name in wanted).encode()
    args = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    output = run_git(made.repository, *args, stdin=stdin, env=_MEMORY).stdout.decode("utf-8", "replace")
    lines = (line.partition(" ") for line in output.splitlines())
    return {name: kind for name, _, kind in lines if kind in _TYPES}


def take_objects(
    made: Quarantine, repository: Repository, tips: Iterable[str], known: Iterable[str], *, with_index: bool
) -> None:
    """Add all objects to the repository that these need and that it lacks. Raises GitError for broken ones.

    `known` are commits whose objects it has.
    """
    pack = _write_pack(made, tips, known, with_index)
    if pack is not None:
        # --strict refuses broken objects, names that git must not check out, and links to nothing.
        check = "--fsck-objects" if made.is_partial else "--strict"
        args = ("index-pack", check, str(pack))
        run_git(repository, *args, env=_MEMORY, timeout_seconds=LONG_SECONDS)
        reach("import.checked")
        _install_pack(pack, repository)


def _write_pack(made: Quarantine, tips: Iterable[str], known: Iterable[str], with_index: bool) -> Path | None:
    """Pack what is only in the quarantine; return None if that is nothing."""
    lines = (*dict.fromkeys(tips), "--not", *dict.fromkeys(known))
    options = ("--local", "--non-empty", "--window=0", "--quiet", "--revs")
    options += ("--missing=allow-promisor",) if made.is_partial else ()
    options += ("--indexed-objects",) if with_index else ()
    base = made.repository.git_dir / "taken"
    name = run_git(
        made.repository,
        *("pack-objects", *options, str(base)),
        stdin="".join(f"{line}\n" for line in lines).encode(),
        env=_MEMORY | index_environment(made.index),
        timeout_seconds=LONG_SECONDS,
    ).stdout
    if not name.strip():
        return None
    pack = base.with_name(f"taken-{name.decode().strip()}.pack")
    pack.with_suffix(".idx").unlink()  # written again by the check
    return pack


def _install_pack(pack: Path, repository: Repository) -> None:
    """Copy a pack into the repository: the index last, because git looks for it first."""
    folder = repository.common_dir / "objects" / "pack"
    folder.mkdir(exist_ok=True)
    name = pack.name.replace("taken-", "pack-")
    for suffix in (".pack", ".idx"):
        target = (folder / name).with_suffix(suffix)
        if not target.exists():
            _copy_durably(pack.with_suffix(suffix), target)
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync_directory(directory)
    finally:
        os.close(directory)


def _copy_durably(source: Path, target: Path) -> None:
    temporary = target.with_name(f"tmp_ostler_{os.getpid()}_{target.name}")  # git gc removes tmp_*
    with source.open("rb") as file, temporary.open("wb") as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        os.fchmod(copy.fileno(), 0o444)
        sync_file(copy.fileno())
    temporary.replace(target)


def is_refusal(error: GitError) -> bool:
    """Return whether the agent's objects are the cause, not the disk or the machine."""
    return error.code not in (Code.DISK_FULL, Code.STORAGE_ERROR, Code.SPAWN_FAILED, Code.GIT_LOCKED)

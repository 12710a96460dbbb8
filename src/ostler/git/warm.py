"""Trees that ended tasks left, kept so that the next one need not be checked out from nothing.

A tree is believed by the index that git wrote when nobody had worked in it yet, and by nothing that came
after: the files that differ from it are written anew, everything else in the tree is thrown away.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir, write_projection
from ostler.git.command import LONG_SECONDS, run
from ostler.git.repository import Repository
from ostler.git.rules import have_same_attributes, rules_of
from ostler.git.strip import Doubtful, strip
from ostler.git.trash import discard, do_later, empty_trash, has_trash
from ostler.process.occupied import is_occupied

WARM = ".warm"
WORTH_BYTES = 64 * 1024  # of an index: a tree of fewer files is made faster than it is cleaned
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# A difference of any kind counts, whatever the repository says about what its disk can be believed in.
_STRICT = {
    "core.fileMode": "true",
    "core.trustctime": "true",
    "core.checkStat": "default",
    "core.ignoreStat": "false",
}
_log = logging.getLogger(__name__)


class Pool(Struct, frozen=True):
    """Where trees are kept, and how many at most."""

    worktrees: Path
    limit: int

    def place(self, name: str) -> Place:
        return Place(self.worktrees / WARM / name)


class Place(Struct, frozen=True):
    """The room of one worktree or checkout: its seal while it is in use, and its tree afterwards."""

    path: Path

    @property
    def tree(self) -> Path:
        return self.path / "tree"

    @property
    def claimed(self) -> Path:
        """The tree while someone makes it his own."""
        return self.path / "claimed"

    @property
    def clean(self) -> Path:
        """Says that nothing but the checked-out files is in the tree any more."""
        return self.path / "clean"

    @property
    def index(self) -> Path:
        return self.path / "index"

    @property
    def seal(self) -> Path:
        return self.path / "seal"


class Seal(Struct, frozen=True):
    """What a tree was when it was made."""

    commit: str
    rules: str  # the configuration by which its files were written
    boot: str  # of the machine: what a power cut left is not believed


def seal(pool: Pool, name: str, repository: Repository, commit: str) -> None:
    """Remember a fresh tree as nobody has touched it, so that it can be kept one day."""
    place = pool.place(name)
    discard(place.path, pool.worktrees)
    index = repository.git_dir / "index"
    if not pool.limit or not index.is_file() or index.stat().st_size < WORTH_BYTES:
        return
    rules = rules_of(repository)
    if rules is None or not _COMMIT.fullmatch(commit):
        return
    try:
        make_private_dir(place.path)
        shutil.copy2(index, place.index)  # with its time, by which git knows what may have changed unseen
        write_projection(place.seal, msgspec.json.encode(Seal(commit, rules, _boot())))
    except (OSError, OstlerError) as reason:
        _log.info("%s will not be kept: %s", name, reason)


def park(pool: Pool, tree: Path, name: str) -> bool:
    """Keep a tree that is no longer needed, in the time of a rename; False when it is not worth keeping."""
    place = pool.place(name)
    if not pool.limit or _read_seal(place) is None or tree.is_symlink() or not tree.is_dir():
        return False
    for old in find_kept(pool)[pool.limit - 1 :]:
        _drop(old, pool)
    try:
        tree.rename(place.tree)
    except OSError:  # on another disk, or not ours to move
        return False
    return True


def forget(pool: Pool, name: str) -> None:
    """Throw the seal of a tree away that is not kept."""
    if not pool.place(name).tree.exists():
        _drop(pool.place(name), pool)


def find_kept(pool: Pool) -> list[Place]:
    """The places whose tree is free to take, the newest first."""
    places = [place for place in _places(pool) if place.tree.is_dir() and not place.tree.is_symlink()]
    return sorted(places, key=_age)


def find_forgotten(pool: Pool) -> list[Place]:
    """The places without a tree whose worktree is gone, too."""
    return [
        place
        for place in _places(pool)
        if not place.tree.exists() and not (pool.worktrees / place.path.name).exists()
    ]


def claim(pool: Pool, name: str, made: Repository, commit: str) -> Place | None:
    """Take a kept tree for this commit, with nothing in it but what was checked out; None: there is none.

    Whoever renames the tree has it, so that two runs never take the same one.
    """
    for kept in find_kept(pool) if pool.limit else []:
        if not _is_written_alike(kept, made, commit):
            continue
        was_clean = kept.clean.exists()
        place = _take(kept, pool.place(name), pool)
        if place is not None and _is_usable(place, made, pool, was_clean):
            return place
    return None


def tidy_later(pool: Pool, repository: Repository) -> None:
    """Clean what is kept before someone needs it, and empty the trash, beside whatever else goes on."""

    def tidy() -> None:
        for place in find_kept(pool):
            if not place.clean.exists():
                with suppress(Doubtful, OSError, OstlerError):  # whoever wants it decides
                    _clean_ahead(place, repository, pool)
        empty_trash(pool.worktrees)

    if find_kept(pool) or has_trash(pool.worktrees):
        do_later(pool.worktrees, tidy)


def fit(place: Place, made: Repository, keep: tuple[int, ...] = ()) -> None:
    """Put a claimed tree into a repository that has no files yet, and bring them to its HEAD."""
    (made.work_tree / ".git").rename(place.claimed / ".git")
    made.work_tree.rmdir()
    place.claimed.rename(made.work_tree)
    shutil.copy2(place.index, made.git_dir / "index")
    work = ("reset", "--hard", "--quiet")
    run(made, *work, settings=_STRICT, timeout_seconds=LONG_SECONDS, keep=keep)


def _places(pool: Pool) -> list[Place]:
    try:
        return [Place(path) for path in (pool.worktrees / WARM).iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _age(place: Place) -> tuple[int, str]:
    try:
        return -place.path.stat().st_mtime_ns, place.path.name
    except OSError:
        return 0, place.path.name  # someone takes it at this moment


def _drop(place: Place, pool: Pool) -> None:
    with suppress(FileNotFoundError):  # someone else was faster
        discard(place.path, pool.worktrees)


def _take(kept: Place, place: Place, pool: Pool) -> Place | None:
    try:
        if kept.path != place.path:
            discard(place.path, pool.worktrees)
            kept.path.rename(place.path)
        place.tree.rename(place.claimed)
    except OSError:
        return None  # someone else was faster
    return place


def _is_usable(place: Place, made: Repository, pool: Pool, was_clean: bool) -> bool:
    """Make it so; a tree that is doubtful in any way is thrown away."""
    try:
        _require_empty(place.claimed)
        if not was_clean:
            strip(place.claimed, place.index, made, pool.worktrees)
    except (Doubtful, OSError, OstlerError) as reason:
        _log.info("%s is not used again: %s", place.path, reason)
        _drop(place, pool)
        return False
    return True


def _clean_ahead(place: Place, repository: Repository, pool: Pool) -> None:
    """Strip the tree where it is; whoever takes it meanwhile finds no word of it, and does it himself."""
    room, tree = place.path.stat().st_ino, place.tree.stat().st_ino
    _require_empty(place.tree)
    strip(place.tree, place.index, repository, pool.worktrees)
    here = os.open(place.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if (os.fstat(here).st_ino, place.tree.stat().st_ino) == (room, tree):
            os.close(os.open("clean", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=here))
    finally:
        os.close(here)


def _require_empty(tree: Path) -> None:
    if is_occupied(tree):
        raise Doubtful("a process is still at work in it")


def _read_seal(place: Place) -> Seal | None:
    try:
        found = msgspec.json.decode(place.seal.read_bytes(), type=Seal)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if found.boot == _boot() else None


def _is_written_alike(kept: Place, made: Repository, commit: str) -> bool:
    """Whether the same file has the same bytes there and here."""
    found = _read_seal(kept)
    if found is None or found.rules != rules_of(made):
        return False
    return found.commit == commit or have_same_attributes(made, found.commit, commit)


def _boot() -> str:
    try:
        return _BOOT.read_text()
    except OSError:
        return ""

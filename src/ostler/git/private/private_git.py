"""Creates the git directory that a task uses inside its sandbox.

It is a complete git directory with its own refs, index and objects. The objects of the user's repository are
mounted read-only; nothing else of that repository is visible inside. Layout of `place`, of which an agent
writes only what is marked:

    git/        the directory itself; replaced before each attempt      (agent)
    objects/    objects that the agent made; kept                       (agent)
    logs/       reflogs, which contain the stashes; kept                (agent)
    bin/        programs that refuse a push
    pointer     the file that is mounted over .git of the worktree
    record.json what Ostler wrote and imported
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.files.atomic import make_private_dir, write_changed_projection
from ostler.git.identity import Identity, read_identity
from ostler.git.private.agent_refs import AgentRefs, read_agent_refs
from ostler.git.private.alternates import has_alternates, list_object_directories
from ostler.git.private.config import build_config
from ostler.git.private.programs import SSH_PROGRAM, write_programs
from ostler.git.private.record import PrivateRecord, hash_index, read_record, write_record
from ostler.git.private.ref_names import HEADS, STASH, SYMBOLIC, TAGS, drop_conflicting, resolve_ref
from ostler.git.private.submodules import find_submodules
from ostler.git.private.untrusted import TooLarge, is_real_directory
from ostler.git.private.user_refs import read_head, read_user_refs
from ostler.git.repository import Repository
from ostler.git.run.failure import with_git_errors
from ostler.git.run.safe_config import read_config_entries
from ostler.git.worktree.trash import discard
from ostler.git.worktree.work_trees import quote_alternate

INSIDE = Path("/run/ostler")  # outside of .git of the user, which is a file inside the sandbox
GIT, OBJECTS, LOGS, BIN, MODULES = "git", "objects", "logs", "bin", "modules"
_NEXT, _POINTER, _EMPTY = "next", "pointer", "empty"
_DIRECTORIES = (OBJECTS, LOGS, "info", "hooks", "refs/heads", "refs/tags")
_ALWAYS_CARRIED = ("rr-cache", MODULES, "lfs")
_UNFINISHED = (
    *("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD"),
    *("rebase-merge", "rebase-apply", "sequencer", "SQUASH_MSG", "REBASE_HEAD"),
)


class GitMount(Struct, frozen=True):
    """A file or directory, and its path inside the sandbox."""

    source: Path
    destination: Path
    writable: bool = False


class PrivateGit(Struct, frozen=True):
    """The git directory of a task inside its sandbox."""

    place: Path
    mounts: tuple[GitMount, ...]  # in order
    pointers: tuple[
        GitMount, ...
    ]  # over the .git files of the worktree and its submodules; after the worktree
    programs: Path  # directory inside the sandbox that has to be on PATH

    @property
    def git_dir(self) -> Path:
        return self.place / GIT


@with_git_errors
def create_private_git(
    repository: Repository, place: Path, identity: Identity | None = None, inside: Path = INSIDE
) -> PrivateGit:
    """Create the directory for the next attempt, or replace all of it that is not the agent's own work.

    What the agent committed in an earlier attempt must have been imported: HEAD, the index and the task's
    branch are those of the worktree. Nothing in the directory is read by git outside of the sandbox. What is
    replaced goes to a trash, which is emptied later: deleting it would delay the start.
    """
    author = identity or read_identity(repository)
    make_private_dir(place, durable=False)
    earlier = _read_earlier(place)
    user_refs, head = read_user_refs(repository), read_head(repository)
    own = _find_own(earlier, read_record(place), user_refs)
    head = _choose_head(repository, head, earlier, own)
    refs = user_refs | own
    # First, because a crash below can delete the agent's refs.
    write_record(place, _build_record(repository, refs, own, head))
    _write_directory(repository, place, author, inside, refs, head)
    _carry_over(place, is_unchanged=earlier.head_commit == resolve_ref(refs, head))
    objects = list_object_directories(repository.common_dir)
    _install(place, objects, inside)
    modules = _create_for_submodules(repository, place, author, inside)
    return PrivateGit(
        place,
        (*_list_mounts(place, objects, inside), *(one for made in modules for one in made.mounts)),
        (*_list_pointers(repository, place), *(one for made in modules for one in made.pointers)),
        inside / BIN,
    )


def _read_earlier(place: Path) -> AgentRefs:
    try:
        return read_agent_refs(place / GIT)
    except TooLarge:
        record = read_record(place)
        return AgentRefs(record.refs, record.head)


def _find_own(earlier: AgentRefs, record: PrivateRecord, user_refs: dict[str, str]) -> dict[str, str]:
    """Return the branches, tags and the stash that the agent created; the user's have precedence."""
    known = earlier.refs or record.own
    were_of_user = record.refs.keys() - record.own.keys()
    own = {
        name: value
        for name, value in known.items()
        if name.startswith((HEADS, TAGS, STASH)) and name not in user_refs and name not in were_of_user
    }
    return drop_conflicting(own, user_refs)


def _choose_head(repository: Repository, real: str, earlier: AgentRefs, own: dict[str, str]) -> str:
    """Return HEAD of the worktree; the agent's own branch at the same commit stays checked out."""
    branch = earlier.head.removeprefix(SYMBOLIC)
    if branch in own and own[branch] == real:
        return earlier.head
    if real:
        return real
    raise GitError(Code.GIT_CORRUPT, f"HEAD of {repository.work_tree} cannot be read", "restore it")


def _build_record(
    repository: Repository, refs: dict[str, str], own: dict[str, str], head: str
) -> PrivateRecord:
    resolved = {name: resolve_ref(refs, value) for name, value in refs.items()}
    index = hash_index(_read(repository.git_dir / "index"))
    return PrivateRecord({name: value for name, value in resolved.items() if value}, own, head, index)


def _write_directory(
    repository: Repository, place: Path, author: Identity, inside: Path, refs: dict[str, str], head: str
) -> None:
    """Write everything that Ostler provides to a new directory."""
    new = place / _NEXT
    discard(new, place)
    new.mkdir(mode=0o700)
    for name in _DIRECTORIES:
        (new / name).mkdir(parents=True)
    ssh = str(inside / BIN / SSH_PROGRAM)
    (new / "config").write_bytes(build_config(read_config_entries(repository), author, ssh))
    (new / "HEAD").write_text(f"{head}\n", errors="surrogateescape")
    _write_refs(new, refs)
    _copy_files(repository, new)


def _write_refs(new: Path, refs: dict[str, str]) -> None:
    packed = {name: value for name, value in refs.items() if not value.startswith(SYMBOLIC)}
    lines = (f"{packed[name]} {name}\n" for name in sorted(packed, key=os.fsencode))
    text = "# pack-refs with: sorted \n" + "".join(lines)
    (new / "packed-refs").write_text(text, errors="surrogateescape")
    for name in refs.keys() - packed.keys():
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).write_text(f"{refs[name]}\n", errors="surrogateescape")


def _copy_files(repository: Repository, new: Path) -> None:
    """Copy the index and the files that decide what git shows."""
    common, own = repository.common_dir, repository.git_dir
    # With the modification time: git compares it with the files.
    for source, name in ((own / "index", "index"), (common / "shallow", "shallow")):
        with suppress(FileNotFoundError):
            shutil.copy2(source, new / name)
    for name in ("info/sparse-checkout", "info/attributes"):
        source = own / name if name == "info/sparse-checkout" else common / name
        with suppress(FileNotFoundError):
            shutil.copyfile(source, new / name)
    patterns = [_read(common / "info" / "exclude")]
    patterns += [_read(own / "info" / "exclude")] if own != common else []
    (new / "info" / "exclude").write_bytes(b"\n".join((*patterns, b".ostler/\n")))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _carry_over(place: Path, is_unchanged: bool) -> None:
    """Move the agent's state to the new directory: its caches, and an unfinished merge or rebase."""
    old, new = place / GIT, place / _NEXT
    for name in (*_ALWAYS_CARRIED, *(_UNFINISHED if is_unchanged else ())):
        path = old / name
        if not path.is_symlink() and (path.is_file() or path.is_dir()):
            with suppress(OSError):  # it is not needed
                path.rename(new / name)


def _install(place: Path, objects: tuple[Path, ...], inside: Path) -> None:
    for name in (OBJECTS, LOGS):
        if not is_real_directory(place / name):
            discard(place / name, place)
            (place / name).mkdir(mode=0o700)
    discard(place / OBJECTS / "info", place)
    (place / OBJECTS / "info").mkdir()
    lines = (quote_alternate(_borrowed(inside, number)) for number, _ in enumerate(objects))
    (place / OBJECTS / "info" / "alternates").write_bytes(b"".join(lines))
    write_changed_projection(place / _POINTER, os.fsencode(f"gitdir: {inside / GIT}\n"))
    write_changed_projection(place / _EMPTY, b"")
    write_programs(place / BIN)
    discard(place / GIT, place)
    (place / _NEXT).rename(place / GIT)


def _list_pointers(repository: Repository, place: Path) -> list[GitMount]:
    """Return the pointer; a checkout whose .git is a directory gets the private one in its place."""
    git = repository.work_tree / ".git"
    return _mount_directory(place, git) if is_real_directory(git) else [GitMount(place / _POINTER, git)]


def _mount_directory(place: Path, destination: Path) -> list[GitMount]:
    return [
        GitMount(place / GIT, destination, writable=True),
        GitMount(place / OBJECTS, destination / OBJECTS, writable=True),
        GitMount(place / LOGS, destination / LOGS, writable=True),
    ]


def _list_mounts(place: Path, objects: tuple[Path, ...], inside: Path) -> list[GitMount]:
    mounts = [*_mount_directory(place, inside / GIT), GitMount(place / BIN, inside / BIN)]
    for number, directory in enumerate(objects):
        mounts.append(GitMount(directory, _borrowed(inside, number)))
        if has_alternates(directory):
            # Its paths do not exist inside; all of them are in our own file.
            mounts.append(GitMount(place / _EMPTY, _borrowed(inside, number) / "info" / "alternates"))
    return mounts


def _borrowed(inside: Path, number: int) -> Path:
    return inside / OBJECTS / str(number)


def _create_for_submodules(
    repository: Repository, place: Path, author: Identity, inside: Path
) -> list[PrivateGit]:
    """Create a directory for each submodule that is checked out: git status reads them."""
    return [
        create_private_git(one, place / MODULES / name, author, inside / MODULES / name)
        for name, one in find_submodules(repository).items()
    ]

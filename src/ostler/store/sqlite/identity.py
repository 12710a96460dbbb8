"""The identity of the journal: its file and the id in it; and the errors for a journal that is lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import apsw

from ostler.errors import Code, StateError
from ostler.files.state_folder import VIEW, is_git_dir
from ostler.store.sqlite.statement import run

REBUILD = "ostler journal rebuild   restores it; no agent is started before"

_REPAIR = "run git worktree repair PATH in the main work tree, or add it under its name (git worktree add)"


class FileIdentity(NamedTuple):
    """The file behind a path; another file has another device or inode."""

    device: int
    inode: int


class Home(NamedTuple):
    """Where a journal belongs; empty fields are not recorded yet."""

    directory: str  # of the project
    file: str  # the inode of the journal; not its device, which may have another number after a restart


def find_home(root: Path, journal: Path) -> Home:
    """Return where this journal is now."""
    return Home(str(root.resolve()), str(journal.stat().st_ino))


def read_identity(path: Path) -> FileIdentity | None:
    """Return the identity of the file at this path; None if there is none."""
    found = stat_file(path)
    return identity_of(found) if found else None


def stat_file(path: Path) -> os.stat_result | None:
    """Return the status of the file at this path; None if there is none."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def identity_of(found: os.stat_result) -> FileIdentity:
    return FileIdentity(found.st_dev, found.st_ino)


def read_store_id(db: apsw.Connection) -> str:
    """Return the random id that was created with the journal."""
    return str(run(db, "SELECT store_id FROM identity")[0][0])


def explain_missing(path: Path) -> StateError:
    """Return the error for a journal that is not there any more, alone or with its git directory."""
    was_in_git = path.parent.name != VIEW
    if was_in_git and not path.parent.is_dir() and not any(is_git_dir(folder) for folder in path.parents):
        return gone_error(path.parent)
    return lost_error(f"the journal {path} was deleted or moved away while it was open")


def missing_error(path: Path) -> StateError:
    """Return the error for a project that has files of tasks but no journal."""
    return lost_error(f"the journal {path} does not exist, but there are files of its tasks or copies of it")


def require_not_copied(journal: Path) -> None:
    """Raise JOURNAL_LOST if `ostler store copy` has put the file aside: a server has the tasks."""
    kept = sorted(journal.parent.glob(f"{journal.name}.copied*"))
    if not kept or os.path.lexists(journal):
        return
    raise StateError(
        Code.JOURNAL_LOST,
        f"the tasks of this project were copied to a server, which store.url does not name: {kept[-1].name}",
        f"set store.url or OSTLER_STORE__URL; to go back to that state, rename {kept[-1]} to {journal.name}",
    )


def gone_error(state: Path) -> StateError:
    """Return the error for a project whose git directory, which contains the journal, is gone."""
    hint = "restore the git directory; to start anew without it, delete .ostler/tasks and run ostler init"
    if state.is_dir():
        message = f"the journal is in {state}, but the project is no work tree of that git directory any more"
        return StateError(Code.JOURNAL_LOST, message, f"{_REPAIR}; to start anew, delete .ostler/tasks")
    return StateError(Code.JOURNAL_LOST, f"the journal was in {state}, which does not exist any more", hint)


def lost_error(message: str) -> StateError:
    """Return the error for a journal that was lost while it was open, or between two commands."""
    return StateError(Code.JOURNAL_LOST, message, REBUILD)

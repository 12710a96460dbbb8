"""A commit as it would be on another base."""

from __future__ import annotations

from msgspec import Struct

from ostler.git.compare.reading import run_on_objects
from ostler.git.repository import Repository

_USAGE = 129  # of a git that has no merge-tree --write-tree: older than 2.38


class MergedTree(Struct, frozen=True):
    tree: str  # empty: it could not be made
    conflict: bool = False  # the tree has conflict markers
    reason: str = ""  # why it could not be made


def merge_onto(repository: Repository, base: str, commit: str) -> MergedTree:
    """Return the files of a commit merged with its new base; no commit is made and no file is changed."""
    options = ("--write-tree", "--name-only", "--no-messages", "--allow-unrelated-histories")
    done = run_on_objects(repository, "merge-tree", *options, base, commit, accept=(0, 1, _USAGE))
    if done.status == _USAGE:
        return MergedTree("", reason="this needs git 2.38 or newer")
    return MergedTree(done.stdout.split(b"\n", 1)[0].decode(), conflict=done.status == 1)

"""The paths of a gate's checkout and of the work trees that it must not use."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ostler.sandbox.readable import has_link


class Checkout(Struct, frozen=True):
    """A checkout of a commit; all paths are absolute and without symbolic links."""

    tree: Path  # the checked-out files
    user: Path  # the user's own work tree of the same repository
    prefix: str = ""  # the project's directory below both
    others: tuple[Path, ...] = ()  # further work trees of the repository

    @property
    def private(self) -> Path:
        """The directory around the tree; it is deleted with the tree."""
        return self.tree.parent

    @property
    def directory(self) -> Path:
        return self.tree / self.prefix

    def find_root(self, path: Path) -> Path | None:
        """Return the innermost work tree that contains the path; None if it is in no work tree."""
        roots = [root for root in (self.user, *self.others) if path.is_relative_to(root)]
        return max(roots, key=lambda root: len(root.parts), default=None)

    def is_own(self, path: Path) -> bool:
        """Return whether the path is in the checkout itself."""
        return path.is_relative_to(self.tree)


def below(root: Path, path: Path) -> Path | None:
    """Return the path relative to `root`, also if it leads there through symbolic links; None: elsewhere."""
    if path.is_relative_to(root):
        return path.relative_to(root)
    for parent in (path, *path.parents):
        if has_link(parent) and os.path.realpath(parent) == str(root):
            return path.relative_to(parent)
    resolved = Path(os.path.realpath(path))
    return resolved.relative_to(root) if resolved.is_relative_to(root) else None

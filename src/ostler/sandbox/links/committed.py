"""Symbolic links in the commit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.links.link import Link


def find_committed_links(checkout: Checkout, names: Iterable[str]) -> Iterator[Link]:
    """Return the symbolic links of the commit that lead to a user work tree; names are relative to the tree.

    A link to a path of the checkout counts by that path: it can be one that `workspace.link` adds.
    """
    for name in names:
        source = checkout.tree / name
        try:
            target = source.parent.resolve() / source.readlink()
        except OSError:
            continue  # replaced by the setup, or a loop
        if checkout.is_own(Path(os.path.normpath(target))):
            continue
        reached = Path(os.path.realpath(target))
        if checkout.find_root(reached) is not None and not checkout.is_own(reached):
            yield Link("commit", source, reached, name)

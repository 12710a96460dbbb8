"""Symbolic links outside a checkout on the way of `npm link`: a sandbox has none of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.links.link import Link
from ostler.sandbox.mounts import Mount
from ostler.sandbox.readable import has_link, has_path

_MAX_HOPS = 40  # as the kernel follows


def mount_hops(checkout: Checkout, links: Iterable[Link]) -> tuple[Mount, ...]:
    """Return mounts of the checkout's packages at each link outside that leads to the user's checkout."""
    found: dict[Path, Path] = {}
    for link in (one for one in links if one.kind == "node"):
        root = checkout.find_root(link.target)
        package = checkout.tree / link.target.relative_to(root) if root else link.target
        hops = [one for one in _list_hops(link.source) if has_link(one) and checkout.find_root(one) is None]
        found |= dict.fromkeys(hops, package)
    return tuple(Mount(package, hop) for hop, package in found.items() if _is_in(checkout, package))


def _is_in(checkout: Checkout, package: Path) -> bool:
    """Return whether the package exists; a link of an agent in its place must not lead elsewhere."""
    return has_path(package) and checkout.is_own(Path(os.path.realpath(package)))


def _list_hops(path: Path) -> Iterator[Path]:
    for _ in range(_MAX_HOPS):
        if not has_link(path):
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))
        yield path

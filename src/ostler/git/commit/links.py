"""Other names of files, through the symbolic links of commits."""

from __future__ import annotations

import os
import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from ostler.git.commit.variant import list_tree, read_blobs
from ostler.git.repository import Repository

Links = Mapping[str, tuple[str, ...]]

_MAX_LINKS = 4  # in one name; links can form a loop


def read_links(repository: Repository, commits: Iterable[str]) -> Links:
    """Return the symbolic links of the commits by the path that they lead to."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for commit in commits:
        links = {name: file.blob for name, file in list_tree(repository, commit).items() if file.is_link}
        texts = read_blobs(repository, links.values()) if links else {}
        for name, blob in links.items():
            target = posixpath.normpath(
                posixpath.join(posixpath.dirname(name), _decode(texts.get(blob, b"")))
            )
            if not target.startswith(("/", "../")) and target != "..":
                found[target].add(_decode(os.fsencode(name)))
    return {target: tuple(sorted(names)) for target, names in found.items()}


def list_names(path: str, links: Links) -> Iterator[str]:
    """Yield the path, and its other names through links."""
    level = {path}
    for _ in range(_MAX_LINKS):
        yield from sorted(level)
        level = {other for name in level for other in _list_aliases(name, links)}
    yield from sorted(level)


def _list_aliases(path: str, links: Links) -> Iterator[str]:
    own = PurePosixPath(path)
    for parent in (own, *own.parents):
        rest = own.relative_to(parent)
        for link in links.get(str(parent), ()):
            yield str(PurePosixPath(link) / rest)


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")

"""Writes some paths of a commit to a directory, without a checkout."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path

from ostler.git.commit.variant import TreeFile, list_tree, read_blobs
from ostler.git.repository import Repository

_MAX_LINKS = 4  # that lead from one to the next
_FILE, _PROGRAM = 0o644, 0o755
_PROGRAM_MODE = "100755"


def extract_paths(repository: Repository, commit: str, paths: Iterable[str], place: Path) -> None:
    """Write the files of these paths below `place`, with the content that links in the commit lead to.

    Links that lead out of the commit are left out.
    """
    found = _find_files(repository, commit, {path: path for path in paths})
    contents = read_blobs(repository, (file.blob for file in found.values())) if found else {}
    for name, file in found.items():
        if file.blob in contents:
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents[file.blob])
            target.chmod(_PROGRAM if file.mode == _PROGRAM_MODE else _FILE)


def read_link(repository: Repository, commit: str, path: str) -> str | None:
    """Return where a symbolic link of the commit leads; None if the path is none."""
    file = list_tree(repository, commit, path).get(path)
    if file is None or not file.is_link:
        return None
    return os.fsdecode(read_blobs(repository, [file.blob]).get(file.blob, b""))


def _find_files(repository: Repository, commit: str, wanted: Mapping[str, str]) -> dict[str, TreeFile]:
    """Return the regular files by the name that they get; `wanted`: paths of the commit by new name."""
    found: dict[str, TreeFile] = {}
    for _ in range(_MAX_LINKS):
        if not wanted:
            break
        tree = list_tree(repository, commit, *sorted(set(wanted.values())))
        links: dict[str, TreeFile] = {}
        for new, old in wanted.items():
            below = {
                new + name[len(old) :]: name for name in tree if name == old or name.startswith(f"{old}/")
            }
            found |= {name: tree[path] for name, path in below.items() if tree[path].is_regular}
            links |= {name: tree[path] for name, path in below.items() if tree[path].is_link}
        wanted = _follow(repository, links, wanted)
    return found


def _follow(
    repository: Repository, links: Mapping[str, TreeFile], origins: Mapping[str, str]
) -> dict[str, str]:
    """Return the paths of the commit that links lead to, by the name of the link."""
    texts = read_blobs(repository, (file.blob for file in links.values())) if links else {}
    followed: dict[str, str] = {}
    for name, file in links.items():
        path = _original(name, origins)
        text = os.fsdecode(texts.get(file.blob, b""))
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
        if text and not target.startswith(("/", "../")) and target not in ("..", "."):
            followed[name] = target
    return followed


def _original(name: str, origins: Mapping[str, str]) -> str:
    """Return the path in the commit of a file with a new name."""
    new = max((one for one in origins if name == one or name.startswith(f"{one}/")), key=len)
    return origins[new] + name[len(new) :]

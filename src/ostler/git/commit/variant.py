"""Commits that differ from another one in some files; no branch and no worktree refers to them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from ostler.git.commit.index import index_environment
from ostler.git.identity import OSTLER
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.git.run.failure import with_git_errors

_REGULAR = ("100644", "100755")
_LINK = "120000"
_REMOVED = "0"
# The same files give the same commit, so that a repeated check adds no objects.
_DATES = {"GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}


class TreeFile(Struct, frozen=True):
    """A file of a commit."""

    mode: str
    blob: str

    @property
    def is_regular(self) -> bool:
        """Whether it is neither a link nor a submodule."""
        return self.mode in _REGULAR

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == _LINK


@with_git_errors
def list_tree(repository: Repository, commit: str, *paths: str) -> dict[str, TreeFile]:
    """Return the files of a commit by their path: all, or those of some files and directories."""
    names = ("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit, *paths)
    output = run_git(repository, *names).stdout
    found: dict[str, TreeFile] = {}
    for line in output.split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        mode, _, blob = facts.decode().split(" ")
        found[os.fsdecode(name)] = TreeFile(mode, blob)
    return found


@with_git_errors
def read_blobs(repository: Repository, blobs: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of blobs; missing ones are left out."""
    wanted = sorted(set(blobs))
    output = run_git(
        repository,
        *("cat-file", "--batch"),
        stdin="".join(f"{blob}\n" for blob in wanted).encode(),
        timeout_seconds=LONG_SECONDS,
    ).stdout
    found: dict[str, bytes] = {}
    start = 0
    for blob in wanted:
        end = output.index(b"\n", start)
        header = output[start:end].split(b" ")
        start = end + 1
        if header[-1] == b"missing":
            continue
        size = int(header[-1])
        found[blob] = output[start : start + size]
        start += size + 1
    return found


@with_git_errors
def write_blobs(repository: Repository, contents: Sequence[bytes]) -> list[str]:
    """Write the contents as blobs and return their ids, in order."""
    if not contents:
        return []
    with TemporaryDirectory(prefix="ostler-") as directory:
        paths = [Path(directory) / str(number) for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        output = run_git(
            repository,
            *("hash-object", "-w", "--no-filters", "--stdin-paths"),
            stdin="".join(f"{path}\n" for path in paths).encode(),
            timeout_seconds=LONG_SECONDS,
        ).stdout
    return output.decode().split()


@with_git_errors
def commit_variant(repository: Repository, commit: str, files: Mapping[str, TreeFile | None]) -> str:
    """Return a child of the commit with other files; None removes a file."""
    lines = b"".join(_index_line(name, file, len(commit)) for name, file in sorted(files.items()))
    with TemporaryDirectory(prefix="ostler-") as directory:
        env = index_environment(Path(directory) / "index")
        run_git(repository, "read-tree", commit, env=env)
        run_git(repository, "update-index", "--replace", "-z", "--index-info", stdin=lines, env=env)
        tree = run_git(repository, "write-tree", env=env).stdout.decode().strip()
    args = ("commit-tree", tree, "-p", commit, "-m", "ostler: a variant for a check")
    return run_git(repository, *args, env=OSTLER.environment() | _DATES).stdout.decode().strip()


def _index_line(name: str, file: TreeFile | None, length: int) -> bytes:
    mode, blob = (_REMOVED, "0" * length) if file is None else (file.mode, file.blob)
    return f"{mode} {blob}\t".encode() + os.fsencode(name) + b"\0"

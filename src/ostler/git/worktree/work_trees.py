"""The work trees of a repository, and where a checkout finds the repository's objects."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from ostler.errors import Code, GitError, PathEscape
from ostler.files.paths import open_beneath
from ostler.git.repository import Repository

_ALTERNATES = Path("objects", "info", "alternates")
_MAX_ALTERNATES = 50
_MAX_FILE_BYTES = 1 << 20


def list_work_trees(repository: Repository) -> tuple[Path, ...]:
    """Return the main work tree and all linked ones that exist, without symbolic links."""
    found = [repository.common_dir.parent] if repository.common_dir.name == ".git" else []
    for pointer in sorted(repository.common_dir.glob("worktrees/*/gitdir")):
        with contextlib.suppress(OSError):
            found.append(Path(os.fsdecode(pointer.read_bytes().strip())).parent)
    resolved = dict.fromkeys(Path(os.path.realpath(one)) for one in found)
    return tuple(one for one in resolved if one.is_dir())


def quote_alternate(path: Path) -> bytes:
    """Return a path as a line of the alternates file."""
    text = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + text + b'"\n'


@contextlib.contextmanager
def borrow_objects_from(tree: Path, repository: Repository, objects: Path) -> Generator[None]:
    """Let the checkout `tree` read the repository's objects at another path for a while."""
    name = str(".git" / _ALTERNATES)
    try:
        with os.fdopen(open_beneath(tree, name, os.O_RDONLY), "rb") as file:
            before = file.read(_MAX_FILE_BYTES)
        _overwrite(tree, name, quote_alternate(objects) + _read_further(repository))
    except (OSError, PathEscape) as error:
        message = f"{tree / name} cannot be used, which the setup of the checkout changed: {error}"
        raise GitError(Code.GIT_CORRUPT, message, "fix [workspace] setup, then: ostler retry") from error
    try:
        yield
    finally:
        # A command can have replaced the git directory; then there is nothing to restore.
        with contextlib.suppress(OSError, PathEscape):
            _overwrite(tree, name, before)


def _overwrite(tree: Path, name: str, content: bytes) -> None:
    """Replace the content of a file that a command could have replaced by a link."""
    with os.fdopen(open_beneath(tree, name, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(content)


def list_alternates(repository: Repository) -> tuple[Path, ...]:
    """Return the directories of objects that the repository borrows, and those that they borrow."""
    found: dict[Path, None] = {}
    waiting = [repository.common_dir / "objects"]
    while waiting and len(found) < _MAX_ALTERNATES:
        directory = waiting.pop()
        for one in _read_alternates(directory):
            if one not in found and one.is_dir():
                found[one] = None
                waiting.append(one)
    return tuple(found)


def _read_alternates(objects: Path) -> list[Path]:
    try:
        lines = (objects / "info" / "alternates").read_bytes().splitlines()
    except OSError:
        return []
    names = [os.fsdecode(line.strip(b'"')) for line in lines if line and not line.startswith(b"#")]
    return [Path(os.path.normpath(objects / one)) for one in names]


def _read_further(repository: Repository) -> bytes:
    """Return the repository's own alternates, with absolute paths."""
    directory = repository.common_dir / "objects"
    try:
        lines = (repository.common_dir / _ALTERNATES).read_bytes().splitlines()
    except OSError:
        return b""
    paths = [os.fsdecode(line) for line in lines if line and not line.startswith((b"#", b'"', b"/"))]
    return b"".join(quote_alternate(Path(os.path.normpath(directory / one))) for one in paths)

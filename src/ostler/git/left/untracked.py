"""Lists the files of a worktree that its index does not have, whatever ignores them."""

from __future__ import annotations

from msgspec import Struct

from ostler.git.left.submodules import find_changed, is_checked_out, read_gitlinks
from ostler.git.left.walk import FoundFile, list_beside, walk_entries
from ostler.git.repository import Worktree
from ostler.git.run.failure import with_git_errors

MAX_FILES = 20_000  # more are not counted


class Found(Struct, frozen=True):
    """The untracked files of a worktree."""

    files: tuple[FoundFile, ...] = ()
    is_complete: bool = True  # false: there are more than MAX_FILES


@with_git_errors
def find_untracked(worktree: Worktree, skipped: tuple[str, ...] = ()) -> Found:
    """Return all untracked files and links except dependencies, caches and names that match `skipped`.

    Nested repositories are included with their git directories. A submodule with changes is one entry.
    """
    listed = list_beside(worktree.repository)
    links = listed.gitlinks
    own = {path: commit for path, commit in links.items() if is_checked_out(worktree.path / path)}
    files = _list_submodules(worktree, own, skipped)
    # Git lists nothing below a gitlink, also where an agent wrote to the empty directory of a submodule.
    entries = [*listed.untracked, *(path for path in links if path not in own)]
    for file in walk_entries(worktree.path, entries, skipped):
        if len(files) >= MAX_FILES:
            return Found(tuple(files), is_complete=False)
        files.append(file)
    return Found(tuple(files))


def _list_submodules(
    worktree: Worktree, recorded: dict[str, str], skipped: tuple[str, ...]
) -> list[FoundFile]:
    if not recorded:
        return []
    base = read_gitlinks(worktree.repository, worktree.base, iter(recorded))
    # A copy fails, so that the worktree is kept: the commits are in its git directory.
    changed = find_changed(worktree.path, recorded, base, skipped)
    return [FoundFile(path, 0, state) for path, state in changed.items()]

"""The patch between two commits or trees."""

from __future__ import annotations

from ostler.git.compare.deltas import DIFF_TREE
from ostler.git.compare.reading import read_bounded
from ostler.git.repository import Repository
from ostler.process.tool import BoundedOutput

_PATCH = (*DIFF_TREE, "-M", "-p", "--full-index", "--submodule=short", "-U3")


def read_comparison_patch(
    repository: Repository, left: str, right: str, paths: tuple[str, ...], limit: int
) -> BoundedOutput:
    """Return the patch of these paths, or of all without any, in at most `limit` bytes. Raises GitError."""
    return read_bounded(repository, limit, *_PATCH, "--end-of-options", left, right, "--", *paths)

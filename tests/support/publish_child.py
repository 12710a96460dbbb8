"""Publishes in a separate process, which a failpoint may kill."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from ostler.git.discovery import discover_repository
from ostler.git.identity import OSTLER
from ostler.git.publish.proposal import Proposal
from ostler.git.publish.publish import publish_merge, publish_pull_request
from ostler.git.repository import locate_worktree


def main(mode: str, project: str, path: str, branch: str, base: str) -> None:
    repository = discover_repository(Path(project))
    assert repository
    worktree = locate_worktree(repository, Path(path), branch, base)
    if mode == "merge":
        published = publish_merge(worktree, "main", OSTLER, f"Merge {branch}")
    else:
        proposal = Proposal("[ostler] Fix", "body", labels=("automated",), auto_merge=mode == "auto")
        published = publish_pull_request(worktree, "main", proposal, OSTLER)
    sys.stdout.buffer.write(msgspec.json.encode(published))


if __name__ == "__main__":
    main(*sys.argv[1:])

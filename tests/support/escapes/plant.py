"""Leaves links in the private home and the worktree, for the host to follow before the next start."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

HOME = (
    ".local", ".config", ".claude", ".claude.json", ".codex", ".gemini", ".npm", ".cache", ".npmrc",
    ".gitconfig", ".ssh", ".opencode", ".qwen", ".copilot", ".pip", ".cargo", ".pypirc", "escapes-link",
)  # fmt: skip
WORKTREE = (
    ".venv", ".claude", ".mcp.json", ".gemini", ".codex", ".cursor", ".vscode", ".env", ".envrc", ".ostler",
    ".github", ".git", "CLAUDE.md", "AGENTS.md", ".opencode", "opencode.json", ".husky", ".npmrc",
)  # fmt: skip


GIT = (
    "HEAD",
    "index",
    "config",
    "packed-refs",
    "refs",
    "info",
    "hooks",
    "shallow",
    "modules",
    "COMMIT_EDITMSG",
)


def main() -> None:
    facts = json.loads(Path(sys.argv[1]).read_text())
    git = Path(Path(".git").read_text().removeprefix("gitdir:").strip())
    for names, folder in ((HOME, Path(os.environ["HOME"])), (WORKTREE, Path.cwd()), (GIT, git)):
        for name in names:
            plant(folder / name, facts["trap"])
    Path("work.txt").write_text("work")


def plant(place: Path, trap: str) -> None:
    """Put a link in place of a file or directory; bubblewrap has the host's files below /oldroot."""
    is_file = "." in place.name[1:] or place.is_file()
    target = f"{trap}/file" if is_file else f"{trap}/folder"
    if place.name in (".local", ".venv"):
        target = f"/oldroot{target}"
    with suppress(OSError):
        if place.exists() or place.is_symlink():
            place.rename(place.with_name(f"{place.name}-before"))
    with suppress(OSError):
        place.symlink_to(target)


main()

"""Which files of a task are kept as blobs, and the names of the blobs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ostler.model.ids import TaskId

# What records refer to. All of it is redacted by its writers; not so, and not uploaded: the private home and
# the setup of the sandbox, copies of the worktree (left, pinned, replaced), and task.md, which people edit.
_FOLDERS = ("prompts", "transcripts", "gates")
_FILE = re.compile(r"(?:prompts|transcripts|gates)/[\w-][\w.-]*\.(?:md|log|txt|jsonl|ndjson|stderr)")
_FILE_ABOVE = re.compile(r"retry-context-[\w.-]+\.md|workspace\.log")


def name_task(store_id: str, task: TaskId) -> str:
    """Return the prefix of all blobs of a task."""
    return f"{store_id}/tasks/{task}"


def name_files(store_id: str, task: TaskId) -> str:
    """Return the prefix of the files of a task's directory."""
    return f"{name_task(store_id, task)}/files"


def is_uploaded(relative: str) -> bool:
    """Return whether a path relative to the task's directory names a file that is uploaded."""
    return (_FILE.fullmatch(relative) or _FILE_ABOVE.fullmatch(relative)) is not None


def scan(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files of a task's directory that are uploaded; links are left out."""
    for below in ("", *_FOLDERS):
        yield from _scan_one(folder / below, f"{below}/" if below else "")


def _scan_one(folder: Path, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_uploaded(f"{prefix}{entry.name}") and entry.is_file(follow_symlinks=False):
                    yield f"{prefix}{entry.name}", entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return

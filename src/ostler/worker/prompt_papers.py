"""The prompt of the moment, where a person or a program finds it, and what was changed in prompts by hand."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

from ostler.clock import rfc3339
from ostler.files.atomic import make_private_dir, write_projection
from ostler.process.transcript import Transcript

PROMPTS = "prompts"
CURRENT = "current-prompt.md"
CHANGES = "prompt-changes.log"


def write_current(task_dir: Path, prompt: str) -> Path:
    """The prompt that is sent, or about to be, as prompts/current-prompt.md (C68)."""
    folder = task_dir / PROMPTS
    make_private_dir(folder)
    write_projection(folder / CURRENT, prompt.encode("utf-8", "replace"))
    return folder / CURRENT


def note_edit(task_dir: Path, attempt: int, before: str, after: str, at: float) -> None:
    """Add to prompts/prompt-changes.log what a debugger made of a prompt: both, whole, as one diff (C77)."""
    log = Transcript(str(task_dir / PROMPTS / CHANGES))
    whole = len(before.splitlines()) + len(after.splitlines())
    lines = unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=whole, lineterm="")
    try:
        log.write(f"{rfc3339(at)} attempt {attempt}\n".encode())
        log.write("\n".join((*lines, "\n")).encode("utf-8", "replace"))
    finally:
        log.close()

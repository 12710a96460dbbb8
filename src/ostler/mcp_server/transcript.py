"""What a task's agents said and did, as one readable text of bounded length."""

from __future__ import annotations

from pathlib import Path

from ostler.views.log import Page, pages

LONGEST = 200_000  # bytes


def read_transcript(task: str, folder: Path, longest: int = LONGEST) -> str:
    """All attempts, the oldest first; of one that is too long the end, and a line that says so."""
    kept: list[str] = []
    room, left_out = longest, 0
    for page in reversed(pages(folder)):
        size = page.path.stat().st_size
        if room:
            kept.append(_end_of(page, min(size, room)))
        left_out += max(0, size - room)
        room = max(0, room - size)
    if not kept:
        return f"{task} has not been started.\n"
    note = f"({left_out} bytes before this are left out; `ostler log {task}` has them all.)\n\n"
    return (note if left_out else "") + "\n".join(reversed(kept))


def _end_of(page: Page, length: int) -> str:
    with page.path.open("rb") as file:
        file.seek(-length, 2)
        return file.read(length).decode("utf-8", "replace")

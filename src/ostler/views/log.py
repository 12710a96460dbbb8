"""The readable pages of a task's attempts, and how to read on where a reader left off."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Page(Struct, frozen=True):
    name: str  # implement-001
    path: Path

    @property
    def number(self) -> int:
        """Of the attempt, counted over the whole task."""
        return _number(self.path)


def pages(task_dir: Path) -> list[Page]:
    """One page per attempt, the oldest first."""
    found = (task_dir / "transcripts").glob("*-[0-9][0-9][0-9]*.md")
    attempts = [path for path in found if path.stem.rpartition("-")[2].isdigit()]  # not -001.answer.md
    return [Page(path.stem, path) for path in sorted(attempts, key=_number)]


def read_from(page: Page, offset: int) -> tuple[str, int]:
    """The text after an offset, up to the last whole line, and the offset behind it."""
    with page.path.open("rb") as file:
        file.seek(offset)
        data = file.read()
    whole = data[: data.rfind(b"\n") + 1]
    return whole.decode("utf-8", "replace"), offset + len(whole)


def _number(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])

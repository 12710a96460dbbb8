"""The readable transcripts of a task's attempts."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Transcript(Struct, frozen=True):
    name: str  # implement-001
    path: Path

    @property
    def number(self) -> int:
        """The number of the attempt within the task."""
        return _number(self.path)


def list_transcripts(task_dir: Path) -> list[Transcript]:
    """Return one transcript per attempt, oldest first."""
    found = (task_dir / "transcripts").glob("*-[0-9][0-9][0-9]*.md")
    attempts = [path for path in found if path.stem.rpartition("-")[2].isdigit()]  # not -001.answer.md
    return [Transcript(path.stem, path) for path in sorted(attempts, key=_number)]


def read_from(page: Transcript, offset: int) -> tuple[str, int]:
    """Return the text after an offset up to the last complete line, and the new offset."""
    with page.path.open("rb") as file:
        file.seek(offset)
        data = file.read()
    whole = data[: data.rfind(b"\n") + 1]
    return whole.decode("utf-8", "replace"), offset + len(whole)


def _number(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])

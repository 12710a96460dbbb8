"""Unpacks a project that was written by an earlier commit of Ostler."""

from __future__ import annotations

import json
import tarfile
import time
from pathlib import Path
from typing import Any

import apsw

from journal_file import journal_path
from ostler.testing.fake_agent import fake_agent
from world import World, bend

_JOURNALS = Path(__file__).parents[1] / "data" / "journals"
_COLUMNS = (("feed", "body"), ("task", "state"), ("attempt", "body"), ("outbox", "body"))


class OldProject(World):
    """An unpacked project; the program's clock shows the time at which the project was packed."""

    def __init__(self, directory: Path, commit: str = "3499aac") -> None:
        super().__init__(directory, git=False)
        self.manifest = json.loads((_JOURNALS / commit / "manifest.json").read_text())
        self.tasks: dict[str, dict[str, Any]] = self.manifest["tasks"]
        self._clock = bend(self)
        self.set_clock(0.0)
        _unpack(_JOURNALS / commit / "project.tar.xz", directory, self.manifest["placeholder"])
        (self.root / ".ostler" / "locks").mkdir(mode=0o700)
        launcher = fake_agent(self.agents, "codex", ledger=str(self.ledger))
        self.environ["OSTLER_CODEX_PATH"] = str(launcher)

    @property
    def database(self) -> Path:
        """The journal as the earlier commit left it, or where opening it has moved it."""
        old = self.root / ".ostler" / "ostler.db"
        return old if old.exists() else journal_path(self.root)

    def set_clock(self, seconds: float) -> None:
        """Set the clock of the program to this many seconds after the project was packed."""
        self._clock.write_text(str(self.manifest["made_at"] - time.time() + seconds))

    def id_of(self, name: str) -> str:
        return self.tasks[name]["id"]

    def statuses(self) -> dict[str, str]:
        """Return the status of each task by its name in the manifest."""
        found = {task["id"]: task["status"] for task in self.json("status")["tasks"]}
        return {name: found[task["id"]] for name, task in self.tasks.items()}

    def prompts(self, name: str) -> list[str]:
        """Return the prompts of a task's attempts, in order."""
        folder = self.root / ".ostler" / "tasks" / self.id_of(name) / "prompts"
        found = sorted(folder.glob("*-[0-9][0-9][0-9].md"), key=lambda path: path.stem.rpartition("-")[2])
        return [path.read_text("utf-8") for path in found]


def _unpack(file: Path, directory: Path, placeholder: str) -> None:
    """Write the files, with the placeholder of the archive replaced by the directory."""
    with tarfile.open(file) as archive:
        for member in archive:
            path = directory / member.name
            if member.isdir():
                path.mkdir(member.mode, parents=True, exist_ok=True)
                continue
            content = archive.extractfile(member)
            assert content is not None, f"{member.name} is neither a file nor a directory"
            data = content.read()
            if path.name != "ostler.db":
                data = data.replace(placeholder.encode(), str(directory).encode())
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(member.mode)
    db = apsw.Connection(str(directory / "project" / ".ostler" / "ostler.db"))
    for table, column in _COLUMNS:
        text = f"CAST(replace(CAST({column} AS TEXT), ?, ?) AS BLOB)"
        db.execute(f"UPDATE {table} SET {column} = {text}", (placeholder, str(directory)))
    db.close()

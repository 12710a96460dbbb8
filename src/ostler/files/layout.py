"""Where things are on disk below a project's root."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.model.ids import TaskId


class Layout(Struct, frozen=True):
    """The names of contract.md, "On disk", in one place."""

    root: Path

    @property
    def state(self) -> Path:
        return self.root / ".ostler"

    @property
    def database(self) -> Path:
        return self.state / "ostler.db"

    @property
    def settings(self) -> Path:
        return self.root / "ostler.toml"

    @property
    def worktrees(self) -> Path:
        return self.state / "worktrees"

    @property
    def runs(self) -> Path:
        """A file for each run that is at work."""
        return self.state / "runs"

    def task(self, task: TaskId) -> Path:
        return self.state / "tasks" / task

    def worktree(self, task: TaskId) -> Path:
        return self.worktrees / task

    def lock(self, task: TaskId) -> Path:
        """Held by the run that carries the task, and by its attempts' keepers until nothing is alive."""
        return self.state / "locks" / task

    def feed_lock(self, reader: str) -> Path:
        """Held by the process that reads the feed for others outside."""
        return self.state / "locks" / f"feed.{reader}"

    @property
    def in_place_lock(self) -> Path:
        """Held instead where all tasks share one directory, so that they go one at a time."""
        return self.state / "locks" / "in-place"

"""The paths of a project's files."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.model.ids import TaskId


class Layout(Struct, frozen=True):
    """The paths below a project's root."""

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
        """One file per active run."""
        return self.state / "runs"

    def task(self, task: TaskId) -> Path:
        return self.state / "tasks" / task

    def worktree(self, task: TaskId) -> Path:
        return self.worktrees / task

    def lock(self, task: TaskId) -> Path:
        """Held by the run of the task and by the keepers of its attempts, until all their processes have
        ended.
        """
        return self.state / "locks" / task

    def feed_lock(self, reader: str) -> Path:
        """Held by the process that exports the feed for this reader."""
        return self.state / "locks" / f"feed.{reader}"

    def pipeline_lock(self, run: str) -> Path:
        """Held for a moment, while a run counts the running tasks of a pipeline run and locks one more."""
        return self.state / "locks" / f"pipeline.{run}"

    @property
    def in_place_lock(self) -> Path:
        """Held where all tasks share one directory, so that they run one at a time."""
        return self.state / "locks" / "in-place"

"""The paths of a project's files."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from msgspec import Struct

from ostler.files.state_folder import VIEW, find_state_folder
from ostler.model.ids import TaskId

JOURNAL = "ostler.db"


class Layout(Struct, frozen=True, dict=True):
    """The paths of a project; `state` does not change while the project is open."""

    root: Path

    @property
    def view(self) -> Path:
        """What people read: it can be deleted and is made again. Without git it contains the state too."""
        return self.root / VIEW

    @cached_property
    def state(self) -> Path:
        """What cannot be made again: the journal, the tasks' files, and the locks."""
        return find_state_folder(self.root)

    @property
    def database(self) -> Path:
        return self.state / JOURNAL

    @property
    def settings(self) -> Path:
        return self.root / "ostler.toml"

    @cached_property
    def worktrees(self) -> Path:
        return self.view / "worktrees"

    @property
    def runs(self) -> Path:
        """One file per active run."""
        return self.state / "runs"

    @cached_property
    def tasks(self) -> Path:
        return self.state / "tasks"

    @property
    def copies(self) -> Path:
        """The files of tasks that other machines uploaded, as far as somebody read them here."""
        return self.state / "copies"

    @property
    def not_uploaded(self) -> Path:
        """One empty file per task whose last changes may not be in the blob store."""
        return self.state / "not-uploaded"

    @property
    def rescues(self) -> tuple[Path, ...]:
        """Where a run keeps what it cannot record; `git clean` does not reach the first one."""
        return self.state, self.view

    def task(self, task: TaskId) -> Path:
        return self.tasks / task

    def sandbox(self, task: TaskId) -> Path:
        """Return the private files of the task's sandbox: its home directory and its git directory."""
        return self.task(task) / "sandbox"

    def shown_task(self, task: TaskId) -> Path:
        """Return the directory of a task as people find it, below the project's root."""
        return self.view / "tasks" / task

    def worktree(self, task: TaskId) -> Path:
        return self.worktrees / task

    def worktree_of_record(self, recorded: str) -> Path:
        """Return the worktree that a record names; older versions recorded its path on their machine."""
        return self.worktrees / Path(recorded).name

    def desk(self, task: TaskId) -> Path:
        """Return what the agent of a task without a worktree may write: agents refuse paths in .git."""
        return self.view / "desks" / task

    def lock(self, task: TaskId) -> Path:
        """Held by the run of the task and by the keepers of its attempts, until all their processes have
        ended.
        """
        return self.state / "locks" / task

    def pipeline_lock(self, run: str) -> Path:
        """Held for a moment, while a run counts the running tasks of a pipeline run and locks one more."""
        return self.state / "locks" / f"pipeline.{run}"

    @property
    def in_place_lock(self) -> Path:
        """Held where all tasks share one directory, so that they run one at a time."""
        return self.state / "locks" / "in-place"

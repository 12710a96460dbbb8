"""Events about tasks that are put away: archived, removed or purged."""

from __future__ import annotations

from ostler.model.events.body import Body


class TaskArchived(Body, frozen=True, tag="task_archived"):
    """A person hid an ended task from the lists."""

    by: str = ""


class TaskUnarchived(Body, frozen=True, tag="task_unarchived"):
    """A person made an archived task visible again."""

    by: str = ""


class TaskRemoved(Body, frozen=True, tag="task_removed"):
    """A person deleted a task that never ran; its id is not used again."""

    by: str = ""


class TaskPurged(Body, frozen=True, tag="task_purged"):
    """A person deleted the files of an ended task; its records and costs stay."""

    by: str = ""
    branch: bool = False  # its branch is deleted too, merged or not


DisposalEvent = TaskArchived | TaskUnarchived | TaskRemoved | TaskPurged

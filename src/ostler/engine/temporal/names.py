"""Names on the Temporal server, and what is sent to it: ids and numbers, no text of a task."""

from __future__ import annotations

from dataclasses import dataclass

TASK_WORKFLOW = "ostler-task"
BOARD_WORKFLOW = "ostler-board"
RUN_TASK = "run_task"
RUN_BOARD = "run_board"


@dataclass(frozen=True)
class TaskOrder:
    """One run of a task. A dataclass, which Temporal encodes itself."""

    task: str
    queue: str  # task queue of the workers that may run it
    heartbeat_seconds: float


@dataclass(frozen=True)
class BoardOrder:
    """The board of one store."""

    queue: str  # first part of the names of the task queues
    heartbeat_seconds: float


def task_workflow_id(store: str, task: str) -> str:
    """Return the id of the workflow that runs a task; a second one with this id is refused."""
    return f"{store}/{task}"


def board_workflow_id(store: str) -> str:
    """Return the id of the board's workflow; no task has this id, as a task id is one word."""
    return f"{store}:board"


def task_queue(queue: str, label: str = "") -> str:
    """Return the queue of the tasks with this label; workers without labels poll the general one only."""
    return f"{queue}.{label}" if label else queue


def advise_other_queue(queue: str, namespace: str) -> str:
    """Return what to do when the open workflows of a project are those of another queue."""
    end = f"temporal workflow terminate -n {namespace} --query \"TaskQueue='{queue}'\""
    return f"ostler worker --queue {queue}; or, when no worker polls it any more: {end}"


def board_queue(queue: str) -> str:
    """Return the queue of the board's activity; a colon is in no label."""
    return f"{queue}:board"

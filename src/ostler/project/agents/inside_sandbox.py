"""Ostler inside the sandbox of a task: the journal is not there, so reports and proposals are left in files.

The run reads them after the attempt, as untrusted text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ostler.errors import UsageError
from ostler.files.layout import Layout
from ostler.model.ids import TaskId
from ostler.model.policy.sandbox import TIER_VARIABLE
from ostler.project.running.current_attempt import (
    SHELL_VARIABLE,
    find_current_attempt,
    find_sandbox_variables,
    works_on,
)

if TYPE_CHECKING:
    from ostler.model.task import Task
    from ostler.prompt.report import AgentReport
    from ostler.store.store import Store

_MAX_REASON = 16_000  # characters; the reader accepts 64 KiB


class InsideSandbox(Struct, frozen=True):
    """The task and the state file of the attempt whose sandbox this process runs in."""

    task: TaskId
    state_file: Path

    def report(self, report: AgentReport) -> None:
        """Write the report into the state file, which the run reads after the attempt."""
        from ostler.files.atomic import write_projection  # noqa: PLC0415
        from ostler.files.yaml_writer import write_yaml_value  # noqa: PLC0415

        fields = {"id": self.task, "status": report.status, "reason": report.reason[:_MAX_REASON]}
        text = "".join(f"{name}: {write_yaml_value(value)}\n" for name, value in fields.items())
        write_projection(self.state_file, text.encode("utf-8", "replace"))

    def propose(self, task: Task) -> TaskId:
        """Leave a task for the run; return the id that it will have."""
        from ostler.project.tasks.files.proposal_files import write_proposal  # noqa: PLC0415

        return write_proposal(self.state_file, task)


def find_inside_sandbox(environ: Mapping[str, str], root: Path | None) -> InsideSandbox | None:
    """Return the attempt of an agent whose sandbox this process runs in; None elsewhere."""
    marks = find_sandbox_variables(environ, root) if _may_be_inside(environ, root) else None
    if marks is None or SHELL_VARIABLE in marks:
        return None
    if not marks.get("OSTLER_STATE"):
        raise UsageError(
            f"this process runs in the sandbox of {marks['OSTLER_TASK']} without a state file",
            "describe the status in your answer instead",
        )
    return InsideSandbox(TaskId(marks["OSTLER_TASK"]), Path(marks["OSTLER_STATE"]))


def refuse_in_sandbox(environ: Mapping[str, str], layout: Layout) -> None:
    """Raise UsageError in the sandbox of a task: its project would be created anew there."""
    marks = find_sandbox_variables(environ, layout.root) if _may_be_inside(environ, layout.root) else None
    if marks is None:
        return
    task = marks.get("OSTLER_TASK", "a task")
    if SHELL_VARIABLE in marks:
        hint = f"exit ends the shell; ostler shell --no-sandbox {task} opens one without a sandbox"
    else:
        hint = "an agent can use ostler report and ostler new"
    raise UsageError(
        f"this process runs in the sandbox of {task}, where the journal of the project is not readable", hint
    )


def require_accessible(store: Store, environ: Mapping[str, str], root: Path) -> Store:
    """Return the store; raise UsageError for an agent without it: it gets no variable with a password."""
    if store.file is None or store.exists():
        return store
    current = find_current_attempt(environ if works_on(root, environ) else {}, root)
    if current is not None:
        raise UsageError(
            f"this process runs inside task {current.task} and cannot open the journal of the project",
            "to report a status, set status: and reason: in the file that OSTLER_STATE names",
        )
    return store


def _may_be_inside(environ: Mapping[str, str], root: Path | None) -> bool:
    """Return whether a sandbox is possible: outside one, the journal exists or there is no project."""
    return bool(environ.get(TIER_VARIABLE)) or (root is not None and not Layout(root).database.exists())

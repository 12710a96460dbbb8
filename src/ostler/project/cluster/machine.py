"""The one machine that runs the tasks of a project without a cluster."""

from __future__ import annotations

from ostler.errors import UsageError
from ostler.project.cluster.host import read_host_id
from ostler.project.project import Project


def settle_machine(project: Project) -> None:
    """Let only this machine run the tasks; raise UsageError if another one does.

    Whether a run is alive is seen only on its own machine: two of them would run a task twice.
    """
    if project.settings.engine.kind == "local":
        project.store.settle_machine(read_host_id(project.layout))


def take_over(project: Project) -> str:
    """Let only this machine run the tasks from now on; return the one that did before.

    Raises UsageError in a cluster, whose workers continue the tasks of each other.
    """
    if project.settings.engine.kind != "local":
        message = f'no machine has to take over with engine.kind = "{project.settings.engine.kind}"'
        raise UsageError(message, "ostler worker   on this machine continues the tasks")
    return project.store.settle_machine(read_host_id(project.layout), take_over=True)

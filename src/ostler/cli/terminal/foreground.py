"""Runs a program of a person in a task, and prints where it runs and what it left."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ostler.cli.terminal.output import print_hint
from ostler.model.ids import TaskId
from ostler.model.policy.sandbox import SandboxRecord, describe_sandbox, is_confined
from ostler.process.tool import run_in_foreground
from ostler.project.project import Project
from ostler.project.tasks.take_over import TakenOver, build_environment, describe_changes


def run_in_task(
    project: Project,
    task: TaskId,
    taken: TakenOver,
    argv: Sequence[str],
    hint: str = "",
    *,
    no_sandbox: bool = False,
    executor: str = "",
) -> int:
    """Run the program in the task's sandbox, or outside of it; return its exit code."""
    if no_sandbox:
        if hint:
            print_hint(f"{task}: {taken.cwd}, without a sandbox  ({hint})")
        code = run_in_foreground([*argv], str(taken.cwd), build_environment(os.environ, taken))
    else:
        code = _run_in_sandbox(project, task, taken, tuple(argv), hint, executor)
    if changes := describe_changes(project, task):
        print_hint(changes)
    return code


def _run_in_sandbox(
    project: Project, task: TaskId, taken: TakenOver, argv: tuple[str, ...], hint: str, executor: str
) -> int:
    # Only this needs the engine.
    from ostler.project.tasks.sandboxed_program import (  # noqa: PLC0415
        ProgramRequest,
        TaskSandbox,
        find_workspace,
    )

    def print_start(record: SandboxRecord) -> None:
        directory = workspace.directory if is_confined(record.tier) else taken.cwd
        if not hint and not record.reason:
            return  # the output is that of a command
        note = f"  ({hint})" if hint else ""
        print_hint(f"{task}: {directory}; sandbox: {describe_sandbox(record)}{note}")

    workspace = find_workspace(project, task, os.environ)
    request = ProgramRequest(task, argv, taken.cwd, os.environ, taken.environ, executor)
    ended = TaskSandbox(project, request).run(workspace, print_start)
    for refused in ended.refused:
        print_hint(refused)
    return ended.status

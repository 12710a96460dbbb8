"""ostler demo"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from ostler.cli.commands.work.run import run_tasks
from ostler.cli.event_loop import run_loop
from ostler.cli.options import json_option
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.task_table import print_table
from ostler.errors import UsageError
from ostler.project.demo import TASKS, create_dashboard_tasks, create_sample
from ostler.project.project import Project
from ostler.text import describe_os_error


@click.command("demo")
@click.argument("directory", required=False)
@click.option("--serve", "served", is_flag=True, help="Show the tasks in the dashboard, until Ctrl-C.")
@json_option
def command(directory: str | None, served: bool, as_json: bool) -> int:
    """Run three tasks in parallel on a sample repository.

    Needs no account and no network: a scripted agent replaces the model, everything else is real.
    DIRECTORY must be empty or new; the default is a temporary directory.
    """
    root = _prepare_directory(directory)
    create_sample(root, served)
    environ = {name: value for name, value in os.environ.items() if name != "OSTLER_PROJECT"}
    if served:
        return _serve(root, environ, as_json)
    with Project.open(root, environ, create=True) as project:
        task_ids = [project.add(task).id for task in TASKS]
        if not as_json:
            print_text(f"Created a sample repository in {root} with three tasks:\n")
            for task in TASKS:
                print_text(f"  {task.title}")
            print_text("")
        code = run_loop(run_tasks(project, task_ids, as_json))
        views = project.tasks()
    if as_json:
        print_json({"schema": "ostler.demo/1", "root": str(root)})
        return code
    print_text("")
    print_table(views)
    print_text("\nEach task made one commit on its own branch; the checkout is unchanged.\n\nNext:")
    print_text(f"  cd {shlex.quote(str(root))}")
    print_text(f"  {_program_name()} show {views[0].id}")
    print_text(f"  {_program_name()} diff {views[0].id}")
    print_text("  git log --oneline --all")
    return code


def _serve(root: Path, environ: Mapping[str, str], as_json: bool) -> int:
    from ostler.cli.commands.work.serve import serve  # noqa: PLC0415  (the plain demo needs no web server)

    with Project.open(root, environ, {"server.port": 0}, create=True) as project:
        tasks = [project.add(task) for task in create_dashboard_tasks()]
        if not as_json:
            print_text(f"Created a sample repository in {root} with {len(tasks)} tasks.")
            print_text("One of them will wait for your approval.\n")
        code = serve(project, view_only=False, as_json=as_json)
    if not as_json:
        print_hint(f"\nThe sample is kept.  Next: cd {shlex.quote(str(root))} && ostler serve")
    return code


def _program_name() -> str:
    """Return the command that starts Ostler from this shell: its name, or its path when not on PATH."""
    return "ostler" if shutil.which("ostler") else shlex.quote(str(Path(sys.argv[0]).absolute()))


def _prepare_directory(directory: str | None) -> Path:
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="ostler-demo-")).resolve()
    root = Path(directory).resolve()
    try:
        root.mkdir(parents=True, exist_ok=True)
        taken = any(root.iterdir())
    except OSError as error:
        raise UsageError(f"cannot use {root}: {describe_os_error(error)}") from None
    if taken:
        raise UsageError(f"{root} is not empty", "pass a new directory, or none")
    return root

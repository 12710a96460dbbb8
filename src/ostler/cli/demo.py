"""ostler demo"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from ostler.cli.out import emit, hint, json_option, say
from ostler.cli.run import run_tasks
from ostler.cli.status import print_table
from ostler.errors import UsageError
from ostler.project.demo import TASKS, make_sample, served_tasks
from ostler.project.project import Project


@click.command("demo")
@click.argument("directory", required=False)
@click.option("--serve", "served", is_flag=True, help="Watch them in your browser, until Ctrl-C.")
@json_option
def command(directory: str | None, served: bool, as_json: bool) -> int:
    """Watch three tasks run side by side on a sample repository.

    No account and no network: a scripted agent plays the part of the model, everything else is real.
    DIRECTORY must be empty or new; a temporary one is made otherwise.
    """
    root = _place(directory)
    make_sample(root, served)
    environ = {name: value for name, value in os.environ.items() if name != "OSTLER_PROJECT"}
    if served:
        return _serve(root, environ, as_json)
    with Project.open(root, environ, create=True) as project:
        wanted = [project.add(task).id for task in TASKS]
        if not as_json:
            say(f"A sample repository in {root}, and three tasks for it:\n")
            for task in TASKS:
                say(f"  {task.title}")
            say("")
        code = asyncio.run(run_tasks(project, wanted, as_json))
        views = project.tasks()
    if as_json:
        emit({"schema": "ostler.demo/1", "root": str(root)})
        return code
    say("")
    print_table(views)
    say("\nEach one is a branch with one commit; your checkout was not touched. Look around:\n")
    say(f"  cd {shlex.quote(str(root))}")
    say(f"  {_program()} show {views[0].id}")
    say(f"  {_program()} diff {views[0].id}")
    say("  git log --oneline --all")
    return code


def _serve(root: Path, environ: Mapping[str, str], as_json: bool) -> int:
    from ostler.cli.serve import serve  # noqa: PLC0415  (the plain demo needs no web server)

    with Project.open(root, environ, {"server.port": 0}, create=True) as project:
        tasks = [project.add(task) for task in served_tasks()]
        if not as_json:
            say(f"A sample repository in {root}, and {len(tasks)} tasks for it. One of them soon asks you.\n")
        code = serve(project, view_only=False, as_json=as_json)
    if not as_json:
        hint(f"\nIt is all in {root}: ostler serve goes on there.")
    return code


def _program() -> str:
    """How a person starts Ostler from here: by its name only where that is found."""
    return "ostler" if shutil.which("ostler") else shlex.quote(str(Path(sys.argv[0]).absolute()))


def _place(directory: str | None) -> Path:
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="ostler-demo-")).resolve()
    root = Path(directory).resolve()
    try:
        root.mkdir(parents=True, exist_ok=True)
        taken = any(root.iterdir())
    except OSError as error:
        raise UsageError(f"cannot use {root}: {error.strerror}") from None
    if taken:
        raise UsageError(f"{root} is not empty", "name a new directory, or none")
    return root

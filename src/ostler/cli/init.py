"""ostler init"""

from __future__ import annotations

import os
from pathlib import Path

import click

from ostler.cli.out import emit, json_option, open_project, say
from ostler.config.template import starter
from ostler.files.atomic import write_atomic
from ostler.project.agents import survey
from ostler.project.roster import roster


@click.command("init")
@json_option
def command(as_json: bool) -> None:
    """Make this directory an Ostler project."""
    root = Path.cwd()
    found = [program.name for program in survey(os.environ) if program.path]
    executor = found[0] if found else "claude"
    settings = root / "ostler.toml"
    fresh = not settings.exists()
    if fresh:
        write_atomic(settings, starter(executor).encode(), mode=0o644)
    with open_project(create=True) as project:
        root = project.layout.root
        executor = project.settings.run.executor
        missing = next((entry.problem for entry in roster(project.settings) if entry.name == executor), "")
    if as_json:
        emit({"schema": "ostler.project/1", "root": str(root), "executor": executor, "created": fresh})
        return
    say(f"{'Made' if fresh else 'Kept'} ostler.toml; state is in .ostler (git ignores it).")
    say(f"Agent: {executor}" + (f" (not usable yet: {missing})" if missing else ""))
    say('Next:  ostler new "What should be done"   then   ostler run --all')

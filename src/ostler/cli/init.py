"""ostler init"""

from __future__ import annotations

import os
from pathlib import Path

import click

from ostler.cli.out import emit, json_option, open_project, say
from ostler.cli.text import table
from ostler.config.template import starter
from ostler.errors import GitError
from ostler.executors.health import State
from ostler.executors.known import CLAUDE
from ostler.executors.login import Login
from ostler.files.atomic import write_atomic
from ostler.git.refs import find_base
from ostler.project.inspection import Inspection, greet_agents
from ostler.project.project import Project

_LOGIN = {Login.YES: ", logged in", Login.NO: ", nobody is logged in", Login.UNKNOWN: ""}


@click.command("init")
@json_option
def command(as_json: bool) -> None:
    """Make this directory an Ostler project."""
    found = greet_agents(os.environ)
    settings = Path.cwd() / "ostler.toml"
    fresh = not settings.exists()
    if fresh:
        write_atomic(settings, starter(found[0].known.name if found else CLAUDE.name).encode(), mode=0o644)
    with open_project(create=True) as project:
        executor = project.settings.run.executor
        if as_json:
            _emit(project, executor, found, fresh)
            return
        say(f"{'Made' if fresh else 'Kept'} ostler.toml; state is in .ostler (git ignores it).")
        say(_agents(found, executor))
        say("\nNext")
        for line in [*_first(found, executor), *_git(project), 'ostler new "What should be done"']:
            say(f"  {line}")
        say("  ostler run --all")


def _emit(project: Project, executor: str, found: list[Inspection], fresh: bool) -> None:
    agents = [
        {"name": one.known.name, "version": one.health.version, "logged_in": one.login, "works": one.works}
        for one in found
    ]
    where = {"root": str(project.layout.root), "executor": executor, "created": fresh}
    emit({"schema": "ostler.project/1", **where, "agents": agents})


def _agents(found: list[Inspection], executor: str) -> str:
    if not found:
        return "\nNo agent is on this machine yet; ostler doctor lists those that can be installed."
    rows = [(f"  {one.known.name}", _stands(one), _use(one, executor)) for one in found]
    return "\n" + table(("  agent", "stands", "what it does here"), rows)


def _stands(one: Inspection) -> str:
    if one.health.state is not State.HEALTHY:
        return one.health.detail
    return f"{one.health.version}{_LOGIN[one.login]}"


def _use(one: Inspection, executor: str) -> str:
    return "takes the tasks" if one.known.name == executor else f"--executor {one.known.name}"


def _first(found: list[Inspection], executor: str) -> list[str]:
    """What to put right before the agent of the settings can work; nothing where it is no known program."""
    chosen = next((one for one in found if one.known.name == executor), None)
    if chosen is None and executor == CLAUDE.name:
        return [CLAUDE.install, CLAUDE.login]
    if chosen is not None and chosen.login is Login.NO:
        return [chosen.known.login]
    return []


def _git(project: Project) -> list[str]:
    """A repository with a commit is what worktrees are made from."""
    repository = project.repository()
    if repository is None:
        return ["git init   and a commit: without git, tasks change this directory itself, one at a time"]
    try:
        find_base(repository)
    except GitError as error:
        return [error.hint]
    return []

"""ostler init"""

from __future__ import annotations

import os
from pathlib import Path

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.text import format_table
from ostler.config.template import starter_config
from ostler.errors import GitError
from ostler.executors.discover import CLAUDE
from ostler.executors.health import HealthState, LoginStatus
from ostler.executors.survey import SurveyedAgent, survey_installed
from ostler.files.atomic import write_atomic
from ostler.files.disk import require_utf8
from ostler.files.layout import Layout
from ostler.git.refs import find_base
from ostler.project.inspection.detect_checks import DetectedCommand, detect_test_command
from ostler.project.project import Project
from ostler.project.registry.known_projects import remember_project

_LOGIN = {LoginStatus.YES: ", logged in", LoginStatus.NO: ", not logged in", LoginStatus.UNKNOWN: ""}


@click.command("init")
@json_option
def command(as_json: bool) -> None:
    """Create an Ostler project in this directory: write ostler.toml and list the agents found.

    An existing ostler.toml is kept.
    """
    require_utf8(Layout(Path.cwd()).database)
    agents = survey_installed(os.environ)
    settings = Path.cwd() / "ostler.toml"
    fresh = not settings.exists()
    tests = detect_test_command(Path.cwd()) if fresh else None
    if fresh:
        name = agents[0].program.name if agents else CLAUDE.name
        text = starter_config(name, tests.command, tests.link) if tests else starter_config(name)
        write_atomic(settings, text.encode(), mode=0o644)
    with open_project(create=True) as project:
        remember_project(project.layout.root, os.environ)
        executor = project.settings.run.executor
        if as_json:
            _print_json(project, executor, agents, fresh, tests)
            return
        print_text(
            f"{'Created' if fresh else 'Kept'} ostler.toml; state is in {_show_state(project.layout)}."
        )
        if tests is not None:
            print_text(
                f"Set the gate of implement to the test command of {tests.found_in}: {tests.command}\n"
                "It must succeed on each commit, and claude may run it; change it in [gates.commands]."
            )
            if tests.link:
                print_text(f"Worktrees get {tests.link} of this directory, read-only ([workspace] link).")
        print_text(_format_agents(agents, executor))
        print_text("\nNext:")
        steps = [*_find_setup_steps(agents, executor), *_find_git_steps(project)]
        for line in [*steps, 'ostler new "Describe the task"', "ostler run --all"]:
            print_text(f"  {line}")


def _show_state(layout: Layout) -> Path:
    return layout.state.relative_to(layout.root) if layout.state.is_relative_to(layout.root) else layout.state


def _print_json(
    project: Project, executor: str, found: list[SurveyedAgent], fresh: bool, tests: DetectedCommand | None
) -> None:
    agents = [
        {
            "name": one.program.name,
            "version": one.health.version,
            "logged_in": one.login,
            "works": one.is_usable,
        }
        for one in found
    ]
    where: dict[str, object] = {"root": str(project.layout.root), "executor": executor, "created": fresh}
    where["test_command"] = tests.command if tests else None
    print_json({"schema": "ostler.project/1", **where, "agents": agents})


def _format_agents(found: list[SurveyedAgent], executor: str) -> str:
    if not found:
        return "\nNo agent is installed; ostler doctor shows how to install one."
    rows = [(f"  {one.program.name}", _describe_agent(one), _describe_use(one, executor)) for one in found]
    return "\n" + format_table(("  agent", "version", "use"), rows)


def _describe_agent(one: SurveyedAgent) -> str:
    if one.health.state is not HealthState.HEALTHY:
        return one.health.detail
    return f"{one.health.version}{_LOGIN[one.login]}"


def _describe_use(one: SurveyedAgent, executor: str) -> str:
    return "default" if one.program.name == executor else f"--executor {one.program.name}"


def _find_setup_steps(found: list[SurveyedAgent], executor: str) -> list[str]:
    """Return the commands that make the configured agent usable; none when it is usable or unknown."""
    configured = next((one for one in found if one.program.name == executor), None)
    if configured is None and executor == CLAUDE.name:
        return [CLAUDE.install, CLAUDE.login_command]
    if configured is not None and configured.login is LoginStatus.NO:
        return [configured.program.login_command]
    return []


def _find_git_steps(project: Project) -> list[str]:
    """Return what is missing for worktrees, which need a repository with a commit."""
    repository = project.worktree_repository()
    if repository is None:
        return ["git init   and make a commit: without git, tasks run in this directory, one at a time"]
    try:
        find_base(repository)
    except GitError as error:
        return [error.hint]
    return []

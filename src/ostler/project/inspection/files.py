"""Problems of the project's files: templates, roles, claude's settings, and pipelines and tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from ostler.config.phase_names import TEMPLATES
from ostler.errors import OstlerError, Problem
from ostler.executors.registry import resolve_type
from ostler.project.inspection.executors import list_used_executors
from ostler.project.inspection.setup import Setup, to_problems
from ostler.prompt.role import Agent, list_project_roles, load_prompt, prompt_file
from ostler.prompt.template import find_template_errors, load_template


def find_template_problems(root: Path) -> Iterator[Problem]:
    """Yield a problem for each mistake in the templates of phases."""
    for file in sorted((root / TEMPLATES).glob("*.md")):
        yield from _try(lambda file=file: load_template(file.stem, "", root), file.relative_to(root), root)


def find_inline_prompt_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for each mistake in [phases.prompts]."""
    for name, text in setup.settings.phases.prompts.items():
        for line, what in find_template_errors(text):
            place = "" if line == 1 else f" (line {line} of the text)"
            yield setup.problem(f"phases.prompts.{name}", what + place)


def find_role_problems(root: Path) -> Iterator[Problem]:
    """Yield a problem for each prompt of a role that is empty or cannot be read."""
    for name in list_project_roles(root):
        yield from _try(lambda name=name: load_prompt(Agent(name, "", ()), root), prompt_file(name), root)


def find_pipeline_problems(setup: Setup) -> Iterator[Problem]:
    """Yield the problems of pipelines and task files; it loads the YAML parser, which a run does not need."""
    from ostler.project.inspection.schedule_files import find_schedule_problems  # noqa: PLC0415

    yield from find_schedule_problems(setup)


def find_claude_problems(setup: Setup) -> Iterator[Problem]:
    """Yield the mistakes in .claude/settings.json: claude would run without the deny rules of the project.

    They are warnings when the settings name another agent.
    """
    if not os.path.lexists(setup.root / ".claude"):
        return
    from ostler.executors.claude.tool_rules import find_rule_problems  # noqa: PLC0415  (few projects have the file)

    types = {resolve_type(name, setup.settings.executors) for name in list_used_executors(setup).values()}
    for problem in find_rule_problems(setup.root):
        yield problem if "claude" in types else replace(problem, severity="warning")


def _try(load: Callable[[], object], file: Path, root: Path) -> list[Problem]:
    """Return the problems of a file that cannot be loaded, with paths relative to the project."""
    try:
        load()
    except OstlerError as error:
        return [_with_file(to_relative(one, root), str(file)) for one in to_problems(error)]
    return []


def _with_file(problem: Problem, file: str) -> Problem:
    """Return the problem with its file, when only its message names it."""
    if problem.file:
        return problem
    return replace(problem, file=file, message=problem.message.removeprefix(file).lstrip(": "))


def to_relative(problem: Problem, root: Path) -> Problem:
    """Return the problem with its file relative to the project."""
    prefix = f"{root}/"
    file, message = problem.file.removeprefix(prefix), problem.message.replace(prefix, "")
    return replace(problem, file=file, message=message)

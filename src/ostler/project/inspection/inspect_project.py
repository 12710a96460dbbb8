"""The preflight of a project: every problem that a run would meet, in one list."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ostler.config.load import load_settings, load_valid_part
from ostler.config.secrets.registered_secrets import find_unusable_secrets
from ostler.errors import OstlerError, Problem, SettingsInvalid
from ostler.executors.registry import ExecutorRegistry
from ostler.git.discovery import discover_repository
from ostler.git.repository import Repository
from ostler.project.inspection import (
    budgets,
    cluster,
    directories,
    executors,
    files,
    names,
    phases,
    publishing,
)
from ostler.project.inspection.refuse import list_with_hint, sort_problems
from ostler.project.inspection.setup import Setup


def find_settings_problems(setup: Setup) -> list[Problem]:
    """Return what is wrong with the settings as they are written; starts no program."""
    return [
        *executors.find_unknown_executors(setup),
        *executors.find_unknown_roles(setup),
        *executors.find_literal_homes(setup),
        *names.find_pool_problems(setup),
        *names.find_disabled_models(setup),
        *names.find_preflight_problems(setup),
        *names.find_variable_problems(setup),
        *names.find_plugin_problems(setup),
        *names.find_preset_problems(setup),
        *names.find_unknown_variables(setup),
        *phases.find_plan_problems(setup),
        *names.find_server_problems(setup),
        *cluster.find_cluster_problems(setup),
        *phases.find_phase_circles(setup),
        *phases.find_gate_problems(setup),
        *budgets.find_budget_problems(setup),
        *directories.find_directory_problems(setup),
        *directories.find_branch_problems(setup),
    ]


def find_run_problems(setup: Setup, repository: Repository | None) -> list[Problem]:
    """Return what a run needs besides its agents: files, programs, remotes and logins."""
    return [
        *files.find_template_problems(setup.root),
        *files.find_inline_prompt_problems(setup),
        *files.find_role_problems(setup.root),
        *files.find_claude_problems(setup),
        *phases.find_missing_programs(setup),
        *_find_notify_problems(setup),
        *_find_secret_problems(setup),
        *(publishing.find_publishing_problems(setup, repository) if repository else ()),
        *(publishing.find_lfs_problems(repository) if repository else ()),
    ]


def inspect_settings(
    root: Path, environ: Mapping[str, str], drafts: Mapping[Path, bytes] = {}
) -> list[Problem]:
    """Return all problems of the settings alone; starts no program except the test of a sandbox."""
    try:
        loaded = load_settings(root, environ, drafts=drafts)
    except SettingsInvalid as error:
        rest = load_valid_part(root, environ, drafts)
        more = find_settings_problems(Setup(root, rest, environ, ExecutorRegistry())) if rest else []
        return [*error.problems, *more]
    setup = Setup(root, loaded, environ, ExecutorRegistry())
    return [*find_settings_problems(setup), *executors.find_skipped_permissions(setup)]


def inspect_project(root: Path, environ: Mapping[str, str]) -> list[Problem]:
    """Return all problems of a project, those of its pipelines and unused agents too, errors first."""
    try:
        loaded = load_settings(root, environ)
    except SettingsInvalid:
        settings = inspect_settings(root, environ)
        found = [*settings, *files.find_template_problems(root), *files.find_role_problems(root)]
    else:
        found = _inspect(Setup(root, loaded, environ, ExecutorRegistry()))
    return sort_problems(found)


def _inspect(setup: Setup) -> list[Problem]:
    repository, git_problems = _find_repository(setup)
    return [
        *find_settings_problems(setup),
        *executors.find_skipped_permissions(setup),
        *git_problems,
        *find_run_problems(setup, repository),
        *executors.find_unusable_executors(setup),
        *files.find_pipeline_problems(setup),
        *(publishing.find_identity_problems(repository) if repository else ()),
    ]


def _find_repository(setup: Setup) -> tuple[Repository | None, list[Problem]]:
    """Return the repository, and why no branch can be created in it."""
    repository = None
    try:
        repository = discover_repository(setup.root) if setup.settings.git.worktree else None
        if repository is not None:
            publishing.require_branches(setup, repository)
    except OstlerError as error:
        return repository, list_with_hint(error)
    return repository, []


def _find_secret_problems(setup: Setup) -> Iterator[Problem]:
    """Yield the registered secrets that cannot be redacted; without a file nothing protects its content."""
    for key, reason in find_unusable_secrets(setup.settings, setup.environ, setup.root):
        severity = "error" if key.startswith("secrets.files") else "warning"
        yield setup.problem(key, f"{reason}; correct [secrets] in ostler.toml", severity)


def _find_notify_problems(setup: Setup) -> Iterator[Problem]:
    if not setup.settings.notify:
        return
    from ostler.notify.inspection import inspect_target  # noqa: PLC0415  (few projects send notifications)

    for index, entry in enumerate(setup.settings.notify):
        found = inspect_target(entry, setup.environ or os.environ, ())
        if found.problem:
            key = f"notify[{index}].command" if entry.command else f"notify[{index}].secret_env"
            yield setup.problem(key, f"{found.problem}; {found.fix}", "warning")

"""The table of files that agents, editors, shells, git, CI or Ostler execute or obey.

Three uses: the sandbox mounts those that programs execute as they are in the base commit, a change of such a
file waits for a person, and a document never replaces one. Names are in lower case: file systems may ignore
the case.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from ostler.lazy import lazy_pattern

_AGENTS = (
    *(".agents", ".aider.conf.yml", ".amazonq", ".claude", ".codex", ".continue", ".crush.json", ".cursor"),
    *(".factory", ".gemini", ".goose", ".junie", ".kilocode", ".kiro", ".mcp.json", ".opencode", ".qwen"),
    *(".roo", ".windsurf", "crush.json", "opencode.json", "opencode.jsonc"),
    *(".github/agents", ".github/hooks", ".github/mcp.json"),
)
_EDITORS = (".devcontainer", ".devcontainer.json", ".idea", ".vscode", ".zed")
_SHELLS = (".autoenv", ".env", ".envrc", ".githooks", ".husky")
EXECUTED = frozenset((*_AGENTS, *_EDITORS, *_SHELLS))
"""What programs execute when they start in a directory: hooks, MCP servers, tasks, variables."""
_PARENTS = frozenset(name.partition("/")[0] for name in EXECUTED if "/" in name)

_CI = frozenset(
    (
        *(
            ".azure-pipelines",
            ".buildkite",
            ".builds",
            ".circleci",
            ".forgejo",
            ".gitea",
            ".github",
            ".gitlab",
        ),
        *(".semaphore", ".teamcity", ".tekton", ".woodpecker"),
    )
)
_CI_FILES = lazy_pattern(
    r"(ostler\.toml|jenkinsfile(\..*)?|(\.mcp|opencode|\.gitlab-ci|azure-pipelines|bitbucket-pipelines|\.travis"
    r"|\.drone|\.woodpecker|\.cirrus|\.?appveyor|buildspec|cloudbuild)\.(ya?ml|jsonc?))"
)
_MAX_LISTED = 20
_NEVER_DOCUMENTS = frozenset({".git", ".gitattributes", ".gitmodules", ".ostler", ".pre-commit-config.yaml"})


def is_guarded(path: str) -> bool:
    """Return whether a change of the path needs a person: settings, executed configuration or CI."""
    parts = PurePosixPath(path.casefold()).parts
    return bool(parts) and (
        _CI_FILES.fullmatch(parts[-1]) is not None or any(one in EXECUTED or one in _CI for one in parts)
    )


def describe_guarded_files(paths: Sequence[str]) -> tuple[str, ...]:
    """Return one line about changed files of this table; nothing if there are none."""
    if not paths:
        return ()
    more = f" and {len(paths) - _MAX_LISTED} more" if len(paths) > _MAX_LISTED else ""
    return (f"changes files that agents, editors or CI execute: {', '.join(paths[:_MAX_LISTED])}{more}",)


def find_protected(parts: list[str]) -> str:
    """Return the part of a path that no document may replace, or an empty string."""
    return next((one for one in parts if one.casefold() in _NEVER_DOCUMENTS or is_guarded(one)), "")


def list_executed(directory: Path) -> list[str]:
    """Return the executed configuration that exists in a directory, as paths below it.

    A symbolic link in place of a directory that can contain some is returned itself.
    """
    found: list[str] = []
    for name in _list_names(directory):
        if name.casefold() in EXECUTED or (name.casefold() in _PARENTS and (directory / name).is_symlink()):
            found.append(name)
        elif name.casefold() in _PARENTS:
            inner = (f"{name}/{one}" for one in _list_names(directory / name))
            found += [one for one in inner if one.casefold() in EXECUTED]
    return found


def _list_names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208  (names are enough)
    except (FileNotFoundError, NotADirectoryError):
        return []

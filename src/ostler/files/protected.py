"""Files of a project that control git, Ostler, agents or CI: an agent's result never replaces them."""

from __future__ import annotations

# Names in any directory, in lower case: file systems may ignore the case.
_NAMES = frozenset(
    {
        ".agents",
        ".azure-pipelines",
        ".buildkite",
        ".circleci",
        ".claude",
        ".cursor",
        ".drone.yml",
        ".git",
        ".gitattributes",
        ".github",
        ".gitlab",
        ".gitlab-ci.yml",
        ".gitmodules",
        ".husky",
        ".mcp.json",
        ".ostler",
        ".pre-commit-config.yaml",
        ".travis.yml",
        ".woodpecker",
        ".woodpecker.yml",
        "appveyor.yml",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        "jenkinsfile",
        "ostler.toml",
    }
)


def find_protected(parts: list[str]) -> str:
    """Return the part of a path that names a protected file or directory, or an empty string."""
    return next((part for part in parts if part.casefold() in _NAMES), "")

"""Files that control Ostler, agents or CI: a person reviews their change before it is merged or published."""

from __future__ import annotations

from pathlib import PurePosixPath

from ostler.engine.steps.services import StepServices
from ostler.git.commit.diff import list_touched_files
from ostler.model.state import State

_DIRECTORIES = frozenset(
    (
        *(".agents", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".qwen"),
        *(".github", ".gitlab", ".circleci", ".buildkite", ".gitea", ".forgejo", ".woodpecker", ".semaphore"),
    )
)
_FILES = frozenset(
    (
        *("ostler.toml", ".mcp.json", "opencode.json"),
        *(".gitlab-ci.yml", "jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".travis.yml"),
        *(".drone.yml", ".woodpecker.yml", ".cirrus.yml", "appveyor.yml", ".appveyor.yml"),
    )
)


def is_guarded(path: str) -> bool:
    """Return whether a changed path needs a person; some file systems ignore case."""
    parts = PurePosixPath(path.lower()).parts
    return bool(parts) and (parts[-1] in _FILES or not _DIRECTORIES.isdisjoint(parts))


def list_guarded_files(state: State, services: StepServices) -> tuple[str, ...]:
    """Return the guarded files that the task changed."""
    if services.repository is None or state.base is None or state.commit is None:
        return ()
    changed = list_touched_files(services.repository, state.base, state.commit)
    return tuple(path for path in changed if is_guarded(path))

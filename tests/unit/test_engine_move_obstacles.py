"""What keeps a task of a cluster on its machine is found before an agent starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from git_world import World, git, make_world
from ostler.config.cluster import EngineSettings
from ostler.config.settings import GitSettings, Settings
from ostler.engine.steps.move_obstacles import advise, find_move_obstacles

CLUSTER = Settings(engine=EngineSettings(kind="temporal"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = make_world(tmp_path)
    git(made.project, "remote", "add", "origin", "https://example.org/a.git")
    return made


def test_a_task_with_a_worktree_and_a_remote_can_move(world: World) -> None:
    """No obstacle."""
    assert find_move_obstacles(CLUSTER, world.project, world.repository) == []


@pytest.mark.parametrize(
    ("settings", "is_document", "part"),
    [
        (CLUSTER, True, "a document is written into the project"),
        (replace(CLUSTER, engine=EngineSettings("temporal", remote="far")), False, "has no git remote far"),
        (replace(CLUSTER, git=GitSettings(on_complete="merge")), False, 'git.on_complete is "merge"'),
    ],
)
def test_each_obstacle_is_one_sentence(
    settings: Settings, is_document: bool, part: str, world: World
) -> None:
    """With one machine, or files that all machines share, there is none."""
    repository = world.repository
    (found,) = find_move_obstacles(settings, world.project, repository, is_document=is_document)
    assert part in found
    for engine in (EngineSettings(), replace(settings.engine, shared_root=True)):
        other = replace(settings, engine=engine)
        assert find_move_obstacles(other, world.project, repository, is_document=is_document) == []


@pytest.mark.parametrize(
    ("worktree", "part"), [(True, "has no git repository"), (False, "git.worktree is false")]
)
def test_a_task_without_a_worktree(worktree: bool, part: str, tmp_path: Path) -> None:
    """The reason is git itself, or the setting."""
    settings = replace(CLUSTER, git=GitSettings(worktree=worktree))
    (found,) = find_move_obstacles(settings, tmp_path, None)
    assert part in found and str(tmp_path) in found


def test_a_missing_remote_has_an_advice_of_its_own(world: World) -> None:
    """A shared directory is more work than a remote."""
    far = replace(CLUSTER, engine=EngineSettings("temporal", remote="far"))
    assert advise(far, world.repository) == "git remote add far URL, or correct engine.remote"
    assert "shared_root = true" in advise(CLUSTER, world.repository)

"""The probe of a repository, and the faults of a project that it finds."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from git_world import World, git, make_world
from ostler.config.settings import Settings
from ostler.engine.steps.project_fault import find_project_fault
from ostler.engine.steps.services import StepServices
from ostler.errors import Code, GitError
from ostler.files.layout import Layout
from ostler.git import probe
from ostler.git.probe import find_repository_fault
from ostler.store.open_store import open_store


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def make_services(world: World) -> StepServices:
    layout = Layout(world.project)
    layout.state.mkdir()
    store = open_store(layout, Settings().store)
    found: Any = SimpleNamespace(layout=layout, repository=world.repository, settings=Settings(), store=store)
    return cast("StepServices", found)


def test_nothing_is_left(world: World) -> None:
    """Neither an object nor a ref."""
    before = git(world.project, "count-objects"), git(world.project, "for-each-ref")
    assert find_repository_fault(world.repository, "ostler/") is None
    assert (git(world.project, "count-objects"), git(world.project, "for-each-ref")) == before


def test_refs_that_cannot_be_written(world: World) -> None:
    (world.project / ".git" / "refs" / "ostler").write_text("in the way")
    assert find_repository_fault(world.repository, "ostler/") is not None


def test_branch_in_the_way_is_no_fault_of_the_repository(world: World) -> None:
    git(world.project, "branch", "ostler")
    assert find_repository_fault(world.repository, "ostler/") is None


def test_objects_that_cannot_be_written(world: World) -> None:
    for number in range(256):
        folder = world.project / ".git" / "objects" / f"{number:02x}"
        if not folder.exists():
            folder.write_text("in the way")
        else:
            folder.rename(folder.with_name(f"{folder.name}.away"))
            folder.write_text("in the way")
    assert find_repository_fault(world.repository, "ostler/") is not None


def test_hanging_git(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error after a timeout is a fault of the project while git hangs, else one of its task."""
    error, services = GitError(Code.GIT_LOCKED, "git add took longer than 60 s"), make_services(world)
    assert find_project_fault(error, services) is None
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 100\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(probe, "SECONDS", 0.1)
    fault = find_project_fault(error, services)
    assert fault is not None and "the tasks keep their progress" in fault.hint
    assert fault.code is Code.GIT_LOCKED


def test_error_of_one_task(world: World) -> None:
    error = GitError(Code.WORKSPACE_WRITE_FAILED, "git cannot write in a worktree")
    assert find_project_fault(error, make_services(world)) is None

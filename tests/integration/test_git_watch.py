"""What is compared in the user's repository before and after a call."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import GateWorld
from git_world import git, make_world
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.workspaces.watch import end_watch, start_watch
from ostler.git.watch.record import compare_record, read_record
from ostler.git.watch.refs import read_refs
from ostler.model.task import Task
from ostler.model.warning import WarningDetail


def never(branch: str) -> bool:
    return False


def test_refs_are_those_that_git_lists(tmp_path: Path):
    """Packed and loose ones, moved after they were packed, and annotated tags."""
    world = make_world(tmp_path)
    git(world.project, "branch", "packed")
    git(world.project, "tag", "-a", "-m", "x", "v1")
    git(world.project, "pack-refs", "--all")
    world.commit({"new": "1"})
    git(world.project, "branch", "team/loose")
    git(world.project, "update-ref", "refs/ostler/tasks/x", "HEAD")
    listed = git(
        world.project, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"
    )
    found = read_refs(world.repository)
    assert found.pop("HEAD") == "ref: refs/heads/main"
    assert found == dict(line.split(" ") for line in listed.splitlines())


def test_broken_settings_are_a_change(tmp_path: Path):
    """A comparison does not fail because of what an agent did to the repository."""
    repository = make_world(tmp_path).repository
    before = read_record(repository)
    (repository.common_dir / "config").write_text("[broken")
    after = read_record(repository)
    assert compare_record(repository, before, before, never).files == ()
    assert "cannot be read" in compare_record(repository, before, after, never).files[0]


def test_values_of_settings_are_not_stored(tmp_path: Path):
    """Addresses of remotes can contain a password."""
    world = make_world(tmp_path)
    git(world.project, "config", "remote.origin.url", "https://me:hunter2@example.org/x.git")
    assert "hunter2" not in repr(read_record(world.repository))


class Watching:
    """Two tasks of one project, whose calls overlap."""

    def __init__(self, directory: Path) -> None:
        self.world = GateWorld(directory)
        other = self.world.project.add(Task("Other", "Do it."))
        self.other = replace(self.world.state, task=other.id, branch=f"ostler/{other.id}")
        self.exclude = self.world.root / ".git" / "info" / "exclude"
        self.exclude.write_text("mine\n")


@pytest.fixture
def watching(tmp_path: Path) -> Watching:
    return Watching(tmp_path)


def test_changes_since_a_call_that_was_killed_are_named_and_stay(watching: Watching):
    """They can be the user's; what the next call changes is restored."""
    found: list[WarningDetail] = []

    async def act(services: StepServices, context: TaskContext) -> StepResult | None:
        start_watch(context, services)
        # The run is killed here. The user edits the file, and starts another run.
        watching.exclude.write_text("mine\nnew\n")
        git(watching.world.root, "tag", "v1")
        found.extend(end_watch(start_watch(context, services), context, services))
        assert watching.exclude.read_text() == "mine\nnew\n"
        start_watch(context, services)
        second = start_watch(context, services)
        watching.exclude.write_text("*\n")
        found.extend(end_watch(second, context, services))
        found.extend(end_watch(start_watch(context, services), context, services))
        return None

    watching.world.run(act)
    assert watching.exclude.read_text() == "mine\nnew\n"
    moved, changed, restored = [one.text for one in found]
    assert "since the interrupted call" in moved and "since the interrupted call" in changed
    assert "while the task ran and was restored" in restored


def test_two_calls_restore_the_patterns_of_the_user(watching: Watching):
    """The second call starts after the first agent wrote; it does not bring these patterns back."""
    found: list[WarningDetail] = []

    async def act(services: StepServices, context: TaskContext) -> StepResult | None:
        other = replace(context, state=watching.other)
        first = start_watch(context, services)
        watching.exclude.write_text("*\n")
        second = start_watch(other, services)
        found.extend(end_watch(first, context, services))
        found.extend(end_watch(second, other, services))
        assert watching.exclude.read_text() == "mine\n"
        # Later, the user writes these patterns, and an agent changes them.
        watching.exclude.write_text("*\n")
        third = start_watch(other, services)
        watching.exclude.unlink()
        found.extend(end_watch(third, other, services))
        return None

    watching.world.run(act)
    assert len(found) == 2 and watching.exclude.read_text() == "*\n"


def test_patterns_of_a_link_are_replaced_by_the_file(watching: Watching):
    """Nothing is written through a link that an agent made."""
    target = watching.world.root.parent / "target"
    target.write_text("*\n")

    async def act(services: StepServices, context: TaskContext) -> StepResult | None:
        watch = start_watch(context, services)
        watching.exclude.unlink()
        os.symlink(target, watching.exclude)
        assert len(end_watch(watch, context, services)) == 1
        return None

    watching.world.run(act)
    assert not watching.exclude.is_symlink() and watching.exclude.read_text() == "mine\n"
    assert target.read_text() == "*\n"

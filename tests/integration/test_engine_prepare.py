"""The setup of [workspace]: it runs once, completely, and its files are never committed."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import SECRET, GateWorld
from git_world import git, snapshot_of
from ostler.config.settings import Settings, WorkspaceSettings
from ostler.engine.core.step import PrepareWorkspace
from ostler.engine.steps.perform import perform
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.worktree import release_workspace
from ostler.errors import Code
from ostler.git.commit.checkpoint import create_checkpoint
from ostler.git.commit.diff import has_changed_since
from ostler.git.identity import OSTLER
from ostler.git.repository import Worktree
from ostler.git.worktree import worktree_pool as warm
from ostler.git.worktree.worktree import release_worktree
from ostler.model.attempt import Attempt
from ostler.model.event import StepFailed, TaskStarted
from ostler.model.status import TaskStatus


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    """A project with uncommitted modules, environment and secrets."""
    made = GateWorld(tmp_path)
    for name in ("node_modules/left-pad/index.js", ".venv/bin/activate", ".venv/pyvenv.cfg", ".env"):
        (made.root / name).parent.mkdir(parents=True, exist_ok=True)
        (made.root / name).write_text(name)
    (made.root / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    return made


def preparing(setup: str = "", copy: tuple[str, ...] = (), link: tuple[str, ...] = ()) -> Settings:
    return GateWorld.settings(WorkspaceSettings(setup, copy, link, timeout_seconds=60))


ALL = preparing(
    "echo generated > generated.txt; mkdir -p build; touch build/x", (".venv", ".env"), ("node_modules",)
)


def committed(world: GateWorld, worktree: Worktree, step: str = "1") -> set[str]:
    """The paths that a checkpoint adds to the base."""
    trailers = {"Task-Id": world.task.id, "Phase": "implement", "Attempt": "1", "Step": step}
    made = create_checkpoint(worktree, "subject", trailers, OSTLER).commit
    return set(git(world.root, "diff", "--name-only", worktree.base, made).splitlines())


def begin_attempt(world: GateWorld) -> None:
    """Record an attempt, so that an agent has worked in the workspace."""
    attempt = Attempt(
        world.task.id, f"{world.task.id}/1.implement.1.1/call", "run", "implement", 1, "mock", 1.0
    )
    world.project.journal.begin_attempt(attempt)


def test_a_new_worktree_has_all_configured_files(world: GateWorld) -> None:
    """Files are copied, linked and set up; the user's checkout is unchanged."""
    before = snapshot_of(world.root)
    worktree = world.worktree(ALL)
    assert (worktree.path / ".venv" / "pyvenv.cfg").read_text() == ".venv/pyvenv.cfg"
    assert os.readlink(worktree.path / ".venv" / "bin" / "python") == "/usr/bin/python3"
    assert os.readlink(worktree.path / "node_modules") == str(world.root / "node_modules")
    assert (worktree.path / ".env").read_text() == ".env"
    assert (worktree.path / "generated.txt").read_text() == "generated\n"
    assert snapshot_of(world.root) == before
    assert sorted(path.name for path in worktree.path.parent.iterdir()) in (
        [world.task.id],
        [".trash", world.task.id],
    )


def test_nothing_of_it_is_ever_committed(world: GateWorld) -> None:
    """Links (not ignored by `node_modules/`), copies and files of the setup are excluded."""
    worktree = world.worktree(ALL)
    assert not has_changed_since(worktree, worktree.base)
    (worktree.path / "work.txt").write_text("the agent's")
    (worktree.path / ".env").write_text("changed by the agent")
    (worktree.path / "build" / "y").write_text("more")
    assert committed(world, worktree) == {"work.txt"}
    (worktree.path / "node_modules").unlink()
    (worktree.path / "node_modules").mkdir()
    (worktree.path / "node_modules" / "own").write_text("installed by the agent")
    (worktree.path / "more.txt").write_text("more")
    assert committed(world, worktree, "2") == {"work.txt", "more.txt"}


def test_the_agents_files_in_a_directory_that_was_filled_up_are_work(tmp_path: Path) -> None:
    """Only the placed files are excluded."""
    world = GateWorld(tmp_path, {"config/default": "committed\n"})
    (world.root / "config" / "local").write_text("mine")
    worktree = world.worktree(preparing(copy=("config",)))
    assert (worktree.path / "config" / "local").read_text() == "mine"
    (worktree.path / "config" / "new").write_text("the agent's")
    assert committed(world, worktree) == {"config/new"}


@pytest.mark.parametrize("name", ["we ird[1]*?#", "!bang", "#hash", "tail ", "back\\slash", "new\nline", "ü"])
def test_odd_names_are_passed_over_too(world: GateWorld, name: str) -> None:
    """Only these files are excluded."""
    (world.root / name).write_text("x")
    worktree = world.worktree(preparing(copy=(f"./{name}",)))
    (worktree.path / "weXird1").write_text("the agent's")
    assert (worktree.path / name).exists()
    assert committed(world, worktree) == {"weXird1"}


def test_it_is_done_once(world: GateWorld, tmp_path: Path) -> None:
    """It is not repeated by a later run; it is repeated when the settings change."""
    ledger = tmp_path / "ledger"
    settings = preparing(f"echo ran >> {ledger}", (".env",))
    worktree = world.worktree(settings)
    (worktree.path / ".env").write_text("changed")
    world.worktree(settings)
    assert ledger.read_text() == "ran\n"
    begin_attempt(world)
    (worktree.path / "work.txt").write_text("the agent's")
    world.worktree(preparing(f"echo ran >> {ledger}; touch later", (".env", ".venv")))
    assert ledger.read_text() == "ran\nran\n"
    assert (worktree.path / ".env").read_text() == "changed"
    assert committed(world, worktree) == {"work.txt"}


@pytest.mark.parametrize(
    ("settings", "code", "word"),
    [
        (preparing("echo no network; exit 3"), Code.WORKSPACE_WRITE_FAILED, "exited with 3: no network"),
        (preparing("no-such-installer"), Code.WORKSPACE_WRITE_FAILED, "not found"),
        (
            GateWorld.settings(WorkspaceSettings("sleep 30", timeout_seconds=0.3)),
            Code.WORKSPACE_WRITE_FAILED,
            "did not exit within 0.3 s",
        ),
        (preparing(copy=("missing",)), Code.INPUT_NOT_FOUND, "missing"),
        (preparing(link=("../outside",)), Code.PATH_ESCAPE, "outside"),
        (preparing(copy=(".git/config",)), Code.CONFIG_INVALID, ".git"),
    ],
)
def test_a_failed_setup_is_reported(world: GateWorld, settings: Settings, code: Code, word: str) -> None:
    """The error has a code, a message and the log of the command; no agent starts."""
    event = world.prepare(settings).event
    assert isinstance(event, StepFailed) and event.code is code and word in event.message
    if settings.workspace.setup:
        assert str(world.home / "workspace.log") in event.message
        assert (world.home / "workspace.log").exists()


def test_a_setup_that_failed_is_done_again(world: GateWorld) -> None:
    """Files of the failed setup are not committed."""
    assert isinstance(world.prepare(preparing("touch half; exit 1", (".env",))).event, StepFailed)
    worktree = world.worktree(preparing("touch whole", (".env",)))
    assert not has_changed_since(worktree, worktree.base)
    (worktree.path / "work.txt").write_text("the agent's")
    assert committed(world, worktree) == {"work.txt"}


def test_a_setup_that_is_cancelled_is_done_again(world: GateWorld, tmp_path: Path) -> None:
    """None of its processes keeps running."""
    started = tmp_path / "started"

    async def cancelled(tools: object, case: object) -> None:
        step = PrepareWorkspace(world.task.id, "key")
        work = asyncio.create_task(perform(step, case, tools))  # type: ignore[arg-type]
        while not started.exists():
            await asyncio.sleep(0.02)
        work.cancel()
        assert await work is None

    world.run(cancelled, preparing(f"touch half; touch {started}; sleep 300"))  # type: ignore[arg-type]
    worktree = world.worktree(preparing("touch whole"))
    assert (worktree.path / "whole").exists() and not has_changed_since(worktree, worktree.base)


def test_a_step_is_cancelled_while_its_error_is_examined(
    world: GateWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another task of the run found the fault first: the step has no result, and no error is raised."""
    probing, program = tmp_path / "probing", tmp_path / "bin" / "git"
    program.parent.mkdir()
    fails, waits = (
        "worktree) echo fatal: unexpected >&2; exit 128;;",
        f"hash-object) touch {probing}; sleep 0.5;;",
    )
    program.write_text(f'#!/bin/sh\ncase "$1" in {fails} {waits} esac\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    async def cancelled(tools: object, case: object) -> None:
        step = PrepareWorkspace(world.task.id, "key")
        work = asyncio.create_task(perform(step, case, tools))  # type: ignore[arg-type]
        while not probing.exists():
            await asyncio.sleep(0.02)
        work.cancel()
        assert await work is None

    world.run(cancelled, preparing())  # type: ignore[arg-type]


def test_a_worktree_that_was_lost_is_prepared_again(world: GateWorld) -> None:
    """The setup runs again in the new worktree."""
    worktree = world.worktree(ALL)
    shutil.rmtree(worktree.path)
    world.worktree(ALL)
    assert (worktree.path / ".env").exists() and (worktree.path / "generated.txt").exists()
    assert not has_changed_since(worktree, worktree.base)


def test_a_registration_that_was_lost_loses_no_work_and_commits_no_secret(world: GateWorld) -> None:
    """After `git worktree prune` the agent's files are kept and no secret is committed."""
    worktree = world.worktree(ALL)
    begin_attempt(world)
    (worktree.path / "work.txt").write_text("the agent's")
    shutil.rmtree(worktree.repository.git_dir)
    worktree = world.worktree(ALL)
    assert committed(world, worktree) == {"work.txt"}


def test_setup_sees_only_what_is_allowed(world: GateWorld) -> None:
    """The setup gets the same environment as a gate's command."""
    worktree = world.worktree(preparing("env; pwd"))
    seen = (world.home / "workspace.log").read_text()
    assert SECRET not in seen and "ALLOWED_X=yes" in seen
    assert seen.splitlines()[-1] == str(worktree.cwd)


def test_a_project_below_the_repository(tmp_path: Path) -> None:
    """Paths are relative to the project; the exclusion applies to the worktree."""
    world = GateWorld(tmp_path, {"sub/b.txt": "two\n"}, prefix="sub")
    (world.root / ".env").write_text("KEY=1")
    worktree = world.worktree(preparing("pwd > made-here", (".env",)))
    assert (worktree.path / "sub" / ".env").exists() and (worktree.path / "sub" / "made-here").exists()
    (worktree.path / "sub" / "work.txt").write_text("the agent's")
    assert committed(world, worktree) == {"sub/work.txt"}


def test_without_git_nothing_is_prepared(world: GateWorld, tmp_path: Path) -> None:
    """The task works in the project's directory, which needs no setup."""
    world.git = False
    world.state = replace(world.state, base=None)
    event = world.prepare(preparing(f"touch {tmp_path / 'ran'}", (".env",))).event
    assert event == TaskStarted()
    assert not (tmp_path / "ran").exists()


def test_a_released_tree_is_cleaned_beside_the_work(
    world: GateWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the repository of the project: that of the worktree is gone by then."""
    monkeypatch.setattr(warm, "MIN_INDEX_BYTES", 0)
    world.worktree(ALL)
    world.state = replace(world.state, status=TaskStatus.COMPLETED)

    async def release(tools: StepServices, case: TaskContext) -> None:
        assert not release_workspace(case.state, tools).kept

    world.run(release)
    for thread in threading.enumerate():
        if thread.name.startswith("tidy "):
            thread.join(60)
    (kept,) = warm.find_available_entries(warm.WorktreePool(world.project.layout.worktrees, 2))
    assert kept.clean_marker.exists()


def test_nothing_that_was_put_there_survives_a_release(
    world: GateWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next user of the files finds no copy, link, setup file or marker."""
    monkeypatch.setattr(warm, "MIN_INDEX_BYTES", 0)
    first = world.worktree(ALL)
    (first.path / ".env").write_text("changed by an agent")
    inode = first.path.lstat().st_ino
    release_worktree(first, 2)
    assert (world.root / "node_modules" / "left-pad" / "index.js").exists()
    bare = world.worktree(preparing())
    assert bare.path.lstat().st_ino == inode, "it was not used again"
    assert {path.name for path in bare.path.iterdir()} == {".git", ".gitignore", "a.txt"}
    release_worktree(bare, 2)
    again = world.worktree(ALL)
    assert again.path.lstat().st_ino == inode
    assert (again.path / ".env").read_text() == ".env"
    assert (again.path / "generated.txt").exists() and (again.path / "node_modules").is_symlink()
    assert committed(world, again) == set()

"""A machine that is short of descriptors or processes, and unusual environments (B19, B20, B21)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from journal_file import journal_path
from nemesis import check_refusal, fill, needs_root, needs_strace, run_traced, run_under, small_disk
from oracle import check_all_done
from world import World

needs_prlimit = pytest.mark.skipif(not shutil.which("prlimit"), reason="prlimit is not installed")
LIMITS = range(8, 48, 4) if os.environ.get("OSTLER_FULL") else (16, 24, 32)
ADVICE = "lower run.jobs"
REFUSE_GIT = """
import errno, itertools, os, subprocess
_start, _numbers = subprocess._fork_exec, itertools.count(1)

def _start_or_refuse(args, *more):
    if os.path.basename(args[0]) in (b"git", "git") and next(_numbers) >= {first}:
        with open({log!r}, "a") as log:
            log.write(".")
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return _start(args, *more)

subprocess._fork_exec = _start_or_refuse
"""


@pytest.mark.sampled(1)
@needs_prlimit
@pytest.mark.parametrize("most", LIMITS)
def test_too_few_descriptors_fail_nothing_for_good(world: World, most: int) -> None:
    """Tasks complete, stay pending, or fail with SPAWN_FAILED and its advice; with enough, all complete."""
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    tasks = [world.new(f"Task number {number}") for number in range(3)]
    done = run_under(world, ["prlimit", f"--nofile={most}:{most}"], "run", "--all", "-j", "3")
    # 2: there are too few for the checks before the run.
    assert done.returncode in (0, 1, 2)
    shown = [world.show(task) for task in tasks]
    assert ADVICE in done.stdout + done.stderr or {task["status"] for task in shown} == {"completed"}
    # A failure that the first run recorded, but not yet as the end, is reported by the next one.
    for _ in range(3):
        for task in [world.show(task) for task in tasks]:
            assert task["status"] in ("completed", "pending", "failed"), task
            if task["status"] == "failed":
                assert task["code"] == "SPAWN_FAILED" and ADVICE in task["message"], task
                world.ostler("retry", task["id"])
        if world.ostler("run", "--all", code=None).returncode == 0:
            break
    assert {task["status"] for task in world.json("status")["tasks"]} == {"completed"}
    world.check_store()


@needs_strace
def test_a_fork_that_fails_for_a_moment_is_repeated(tmp_path: Path) -> None:
    """EAGAIN three times, for git and for the keeper, has no effect."""
    world = World(tmp_path, git=False)
    world.new()
    done, refused = run_without_forks(world, "vfork,clone", "1..3")
    assert (done.returncode, len(refused) >= 3) == (0, True), done.stderr
    world.close()


@pytest.mark.full
@needs_strace
def test_forks_that_fail_for_good_are_reported_with_advice(tmp_path: Path) -> None:
    """SPAWN_FAILED names the limit; the task can be retried when the machine has recovered."""
    world = World(tmp_path, git=False)
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    task = world.new()
    done, refused = run_without_forks(world, "clone", "1+")
    assert (done.returncode, len(refused) > 3) == (1, True), "it was not tried again"
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("failed", "SPAWN_FAILED")
    assert ADVICE in shown["message"]
    world.ostler("retry", task)
    world.ostler("run", "--all")
    assert world.show(task)["status"] == "completed"
    world.close()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("first", range(1, 9))
def test_git_that_cannot_start_stops_the_run(world: World, first: int) -> None:
    """From any git process of a run on: the task stays pending, and the next run completes it."""
    task = world.new()
    log = refuse_git_from(world, first)
    done = run_under(world, [], "run", "--all")
    # Each is tried six times, and the run continues without some.
    assert len(log.read_text()) >= 6
    check_stopped(world, done, task)


@needs_strace
def test_threads_that_cannot_start_stop_the_run(world: World) -> None:
    """The cause is the machine, not the task: it stays pending, and the next run completes it."""
    task = world.new()
    done, refused = run_without_forks(world, "clone3", "2")
    assert refused
    check_stopped(world, done, task)


def check_stopped(world: World, done: subprocess.CompletedProcess[str], task: str) -> None:
    # 2: git could not be started for the checks before the run.
    assert done.returncode in (1, 2), done.stdout + done.stderr
    check_refusal(done, done.returncode, "SPAWN_FAILED", "")
    assert ADVICE in done.stderr
    assert world.show(task)["status"] == "pending"
    world.environ.pop("PYTHONPATH")
    world.ostler("run", "--all")
    check_all_done(world, [task])


def refuse_git_from(world: World, first: int) -> Path:
    """Let the system refuse this git process of the program and all later ones; return the log of refusals.

    strace counts per thread, and which thread starts git differs from run to run.
    """
    folder = world.root.parent / "refuse"
    folder.mkdir()
    (log := folder / "refused").touch()
    (folder / "sitecustomize.py").write_text(REFUSE_GIT.format(first=first, log=str(log)))
    world.environ["PYTHONPATH"] = f"{folder}:{world.environ['PYTHONPATH']}"
    return log


def run_without_forks(
    world: World, calls: str, when: str
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    inject = ["-e", f"trace={calls}", "-e", f"inject={calls}:error=EAGAIN:when={when}"]
    done, trace = run_traced(world, inject, "run", "--all")
    return done, [line for line in trace if "INJECTED" in line]


ODD = {
    "no home": {"HOME": ""},
    "home gone": {"HOME": "{place}/gone"},
    "tmp gone": {"TMPDIR": "{place}/gone"},
    "locale C": {"LC_ALL": "C", "LANG": "C"},
    "ascii only": {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},
    "unknown zone": {"TZ": "Mars/Phobos"},
}


@pytest.mark.full
@pytest.mark.sampled(2)
@pytest.mark.parametrize("surroundings", ODD)
def test_odd_surroundings_are_no_hindrance(world: World, surroundings: str) -> None:
    """With any environment, a task with any letters is created, completed and shown."""
    place = world.root.parent
    world.environ |= {name: value.format(place=place) for name, value in ODD[surroundings].items()}
    task = world.new("Grüße, 你好 😀")
    world.ostler("run", "--all")
    assert world.json("status")["tasks"][0]["title"] == "Grüße, 你好 😀"
    for command in (["status"], ["show", task], ["log", task], ["events"]):
        world.ostler(*command)
    check_all_done(world, [task])


def test_an_unset_home_is_no_hindrance(world: World) -> None:
    """As under a service manager."""
    del world.environ["HOME"]
    task = world.new()
    world.ostler("run", "--all")
    check_all_done(world, [task])


@needs_root
def test_a_full_tmp_is_no_hindrance(world: World, tmp_path: Path) -> None:
    """Ostler needs no space there."""
    with small_disk(tmp_path / "tmp", "64k") as tmp:
        fill(tmp, 0)
        world.environ["TMPDIR"] = str(tmp)
        task = world.new()
        world.ostler("run", "--all")
        check_all_done(world, [task])


@pytest.mark.full
def test_state_is_private_whatever_the_umask(world: World) -> None:
    """Directories 0700, files 0600; below a worktree git and the agent decide, without access for others."""
    world.behave(plan=[{}, {"fault": "a18_exit"}])
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    commands = ("new First", "new Second", "run --all -j 1", "run --all --nonsense", "status")
    lines = "\n".join(f"'{sys.executable}' -m ostler {command}" for command in commands)
    shell = ["sh", "-c", f"umask 000\n{lines}"]
    subprocess.run(shell, cwd=world.root, env=world.environ, check=False, capture_output=True)
    assert [task["status"] for task in world.json("status")["tasks"]] == ["completed", "failed"]
    view, state = world.root / ".ostler", journal_path(world.root).parent
    kept = {path.parent for path in (view / "worktrees").glob("*/*")}
    assert len(kept) == 1, "the failed task keeps its worktree"
    below = [path for place in (view, state) for path in (place, *place.rglob("*"))]
    links = [path for path in below if path.is_symlink()]
    assert links == [view / "tasks"], "the mode of a link has no effect"
    found = [path for path in below if not any(path.is_relative_to(tree) for tree in (*kept, *links))]
    assert len(found) > 15
    modes = {path: path.lstat().st_mode & 0o777 for path in found}
    wrong = {str(path): oct(mode) for path, mode in modes.items() if mode & 0o077}
    assert wrong == {}
    programs = {path: mode for path, mode in modes.items() if path.is_file() and mode != 0o600}
    assert set(programs.values()) == {0o700}, "they refuse a push"
    assert {path.parent.name for path in programs} <= {"bin", "hooks"}, programs
    assert all(mode == 0o700 for path, mode in modes.items() if path.is_dir()), modes

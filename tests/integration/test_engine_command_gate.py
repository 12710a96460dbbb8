"""The command gate: real commands on real commits."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from examples import FULL
from gate_world import SECRET, GateWorld
from git_traps import Traps, commit_bait, plant_by_include, plant_hooks, plant_in_configuration
from git_world import git, snapshot_of
from ostler.config.settings import WorkspaceSettings
from ostler.errors import Code, OstlerError
from ostler.files.disk import to_disk_error
from ostler.model.event import GateDecided
from ostler.model.notice import PhaseFailed, PhaseRetried
from ostler.model.plan import Gate
from ostler.model.policy.sandbox import SandboxRecord
from ostler.model.state import GateCheck


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return GateWorld(tmp_path)


def test_a_command_that_succeeds_passes(world: GateWorld) -> None:
    """The verdict is bound to the commit, the output is kept, and nothing is left (X5)."""
    event = world.command("echo fine; echo also >&2")
    assert (event.verdict, event.gate, event.sha) == ("pass", "command", world.commit)
    assert event.output == "gates/test-1.log"
    assert world.output(event) == "fine\nalso\n"
    assert (world.home / event.output).stat().st_mode & 0o777 == 0o600
    assert world.leftovers() == []


@pytest.mark.parametrize(
    "command", ["echo no; exit 1", "false", "exit 255", "kill -SEGV $$", "test -e missing"]
)
def test_a_command_that_fails_fails(world: GateWorld, command: str) -> None:
    """The result has a reason, a signature and the output for the retry."""
    answer = world.check(Gate("command", command=command))
    event = answer.event
    assert isinstance(event, GateDecided)
    assert (event.verdict, event.sha) == ("fail", world.commit) and command in event.reason
    assert len(event.signature) == 16
    assert answer.notices == (PhaseRetried("test", "implement", 1, "retry-context-test-1.md"),)
    history = (world.home / "retry-context-test-1.md").read_text()
    assert event.reason in history and "Back to phase: implement" in history
    assert world.leftovers() == []


@pytest.mark.parametrize("signal", ["KILL", "TERM"])
@pytest.mark.parametrize("place", ["", "sh -c "])
def test_a_command_that_was_killed_runs_once_more(world: GateWorld, signal: str, place: str) -> None:
    """The kernel or a person ended it: no verdict about the work, unless the second run has one."""
    kill = f"{place}'kill -{signal} $$'" if place else f"kill -{signal} $$"
    once = f'echo run >> "$TMPDIR/runs"; test $(wc -l < "$TMPDIR/runs") -gt 1 || {kill}'
    assert world.command(once).verdict == "pass"
    event = world.command(f'echo run >> "$TMPDIR/always"; {kill}')
    assert (event.verdict, event.cause) == ("could_not_run", "killed")
    assert "was killed by signal" in event.reason
    assert (world.temporary / "always").read_text() == "run\nrun\n"


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("no-such-program-anywhere", "not found"),
        ("./a.txt", "126"),
        ("sleep 30", "did not exit within 0.5 s"),
        ("trap '' TERM; while :; do sleep 0.1; done", "did not exit within 0.5 s"),
        ("trap 'exit 0' TERM; while :; do sleep 0.1; done", "did not exit within 0.5 s"),
    ],
)
@pytest.mark.sampled(2)
def test_a_command_that_cannot_be_run_is_no_verdict(world: GateWorld, command: str, word: str) -> None:
    """It neither passes nor causes a retry; the message of a timeout contains its limit."""
    answer = world.check(Gate("command", command=command), world.settings(timeout_seconds=0.5))
    event = answer.event
    assert isinstance(event, GateDecided)
    assert event.verdict == "could_not_run" and word in event.reason
    assert isinstance(answer.notices[0], PhaseFailed) and answer.notices[0].code is Code.GATE_UNRUNNABLE
    assert not (world.home / "retry-context-test-1.md").exists()
    assert world.leftovers() == []


def test_the_commit_is_looked_at_and_not_the_worktree(world: GateWorld) -> None:
    """Uncommitted files of the worktree and the user's checkout are absent; git works."""
    worktree = world.worktree()
    (worktree.path / "a.txt").write_text("not committed")
    (worktree.path / "new.txt").write_text("new")
    (world.root / "mine.txt").write_text("the user's")
    before = snapshot_of(world.root)
    event = world.command(
        "cat a.txt; ls; git rev-parse HEAD; git status --porcelain; pwd; "
        "echo x > a.txt; echo y > y; git commit -qam z"
    )
    lines = world.output(event).splitlines()
    assert lines[:3] == ["one", "a.txt", world.commit]
    assert lines[3] == str(world.root)  # the checkout is mounted there
    assert event.check == GateCheck(
        event.reason.split("`")[1], "bind-over", sandbox=SandboxRecord(tier="supervised")
    )
    assert (worktree.path / "a.txt").read_text() == "not committed"
    assert not (worktree.path / "y").exists()
    assert snapshot_of(world.root) == before


def test_the_same_commit_gives_the_same_answer(world: GateWorld) -> None:
    """Files that a gate wrote are absent in the next check."""
    command = "ls -A; test ! -e written && touch written ../written && exit 7"
    first, second = world.command(command), world.command(command)
    assert (first.verdict, first.signature) == (second.verdict, second.signature) == ("fail", first.signature)
    assert "exited with 7" in first.reason == second.reason


def test_only_what_is_allowed_is_seen(world: GateWorld) -> None:
    """Only the default variables and env_allow are passed, nothing of Ostler or its shell (S10)."""
    hidden = ("ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "CLAUDECODE", "GIT_DIR", "PYTHONPATH", "OSTLER_TASK")
    world.environ |= dict.fromkeys(hidden, SECRET)
    event = world.command("env")
    assert SECRET not in world.output(event)
    seen = {line.partition("=")[0] for line in world.output(event).splitlines()}
    assert {"PATH", "HOME", "ALLOWED_X"} <= seen
    assert {name for name in seen if name.startswith("OSTLER_")} == {"OSTLER_ATTEMPT"}


def test_it_is_as_nice_as_the_tasks_agents(world: GateWorld) -> None:
    """A task of normal priority runs with a higher nice value."""
    wanted = os.nice(0) + 5  # set just after the start, so that the first output may precede it
    assert world.command(f"until test $(nice) = {wanted}; do sleep 0.05; done").verdict == "pass"


def test_the_checkout_is_outside_wherever_temporary_files_go(world: GateWorld) -> None:
    """It is not below the project, whose settings would apply there."""
    (world.root / "tmp").mkdir()
    world.environ["TMPDIR"] = str(world.root / "tmp")
    event = world.command("pwd", world.settings(isolation="none"))
    assert not Path(world.output(event).strip()).is_relative_to(world.root)
    assert list((world.root / "tmp").iterdir()) == []


def test_what_a_command_leaves_running_is_ended(world: GateWorld, tmp_path: Path) -> None:
    """A daemon in its own session is stopped, and the gate does not wait for it."""
    pid = tmp_path / "pid"
    seconds = f"300.{os.getpid()}"
    daemon = f"setsid sh -c 'echo $$ > {pid}; exec sleep {seconds}' >/dev/null 2>&1 &"
    began = time.monotonic()
    event = world.command(f"{daemon} until test -s {pid}; do sleep 0.05; done")
    assert event.verdict == "pass"
    assert not [one for one in psutil.process_iter(["cmdline"]) if seconds in (one.info["cmdline"] or ())]
    assert time.monotonic() - began < 60
    assert world.leftovers() == []


def test_what_a_command_writes_goes_with_the_checkout(world: GateWorld) -> None:
    """Files beside the checkout, without permissions, or in place of the trash are deleted too."""
    event = world.command(
        "mkdir -p deep/er ../beside .trash; echo x > ../beside/x; echo x > deep/er/x; ln -s / ../.trash;"
        " chmod 000 deep ../beside; mkfifo pipe; ln -s /etc away"
    )
    assert event.verdict == "pass"
    assert world.leftovers() == []
    assert Path("/etc/passwd").exists()


def test_a_flood_is_kept_and_costs_no_memory(world: GateWorld) -> None:
    """Much output is complete in the log, and only the end is used elsewhere."""
    size = 100_000_000 if FULL else 4_000_000
    before = psutil.Process().memory_info().rss
    flood = f"yes {'x' * 99} | head -c {size}; echo the end; exit 1"
    answer = world.check(Gate("command", command=flood))
    event = answer.event
    assert isinstance(event, GateDecided)
    assert event.verdict == "fail" and event.reason.endswith("the end")
    assert (world.home / event.output).stat().st_size == size + len("the end\n")
    assert (world.home / "retry-context-test-1.md").stat().st_size < 300_000
    assert psutil.Process().memory_info().rss - before < 64 << 20


def test_odd_bytes_are_accepted(world: GateWorld) -> None:
    """They break neither the reason nor the retry context."""
    event = world.command(r"printf '\377\376\033[31mbad\033[0m\007\n'; exit 1")
    assert event.verdict == "fail" and event.reason.endswith("bad")


def test_no_trap_of_the_repository_fires(world: GateWorld) -> None:
    """Hostile hooks, monitors, filters and includes do not run when the gate uses git (S7)."""
    commit_bait(world.world)
    world.commit = git(world.root, "rev-parse", "HEAD")
    worktree = world.worktree()
    traps = Traps(world.world)
    plant_in_configuration(traps)
    plant_by_include(traps)
    plant_hooks(traps, worktree)
    traps.disarm()
    event = world.command(
        "git status && git log -p -1 && git diff HEAD && git checkout -q -b x && cat bait.smudge"
    )
    assert (event.verdict, world.output(event).splitlines()[-1]) == ("pass", "smudge")
    assert traps.fired() == set()


@pytest.mark.parametrize("sha", ["f" * 40, "HEAD", "-x"])
def test_a_commit_that_is_not_there_cannot_be_checked(world: GateWorld, sha: str) -> None:
    """The gate reports could_not_run."""
    world.commit = sha
    event = world.command("true")
    assert event.verdict == "could_not_run"
    assert world.leftovers() == []


def test_without_git_there_is_no_commit_to_check(world: GateWorld) -> None:
    """A command gate reports could_not_run without a repository."""
    world.git = False
    event = world.command("true")
    assert event.verdict == "could_not_run" and "git" in event.reason


def test_the_checkout_is_prepared_like_a_worktree(world: GateWorld) -> None:
    """Files are linked, copied and set up; git still reports a clean tree."""
    (world.root / "node_modules").mkdir()
    (world.root / "node_modules" / "tool").write_text("#!/bin/sh\necho tool runs\n")
    (world.root / "node_modules" / "tool").chmod(0o755)
    (world.root / ".env").write_text("KEY=1")
    workspace = WorkspaceSettings(setup="echo built > built.txt", copy=(".env",), link=("node_modules",))
    event = world.command(
        "node_modules/tool; cat .env built.txt; git status --porcelain", world.settings(workspace)
    )
    assert world.output(event) == "tool runs\nKEY=1built\n"
    assert event.verdict == "pass"
    assert (world.root / "node_modules" / "tool").exists()
    assert world.leftovers() == []


@pytest.mark.parametrize(
    ("workspace", "word"),
    [
        (WorkspaceSettings(setup="echo no network; exit 3"), "no network"),
        (WorkspaceSettings(setup="sleep 30", timeout_seconds=0.5), "did not exit within 0.5 s"),
        (WorkspaceSettings(copy=("missing",)), "missing"),
        (WorkspaceSettings(link=("../../etc",)), "PATH_ESCAPE"),
        (WorkspaceSettings(copy=(".ostler",)), "CONFIG_INVALID"),
    ],
)
def test_a_checkout_that_cannot_be_prepared_is_no_verdict(
    world: GateWorld, workspace: WorkspaceSettings, word: str
) -> None:
    """The command does not run."""
    event = world.command("touch ran; exit 1", world.settings(workspace))
    assert event.verdict == "could_not_run" and word in event.reason
    assert world.leftovers() == []


def test_a_project_below_the_repository_is_checked_there(tmp_path: Path) -> None:
    """The command runs in the project's directory."""
    world = GateWorld(tmp_path, {"sub/b.txt": "two\n"}, prefix="sub")
    event = world.command("ls; basename $PWD; git rev-parse --show-prefix")
    assert world.output(event).split() == ["b.txt", "sub", "sub/"]


def test_a_full_disk_is_a_host_failure(world: GateWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is raised and no verdict is recorded."""

    def full(*_: object) -> None:
        raise to_disk_error(world.temporary, OSError(28, "No space left on device"))

    monkeypatch.setattr("ostler.git.worktree.export.export_commit", full)
    with pytest.raises(OstlerError) as raised:
        world.command("true")
    assert raised.value.code is Code.DISK_FULL
    assert world.leftovers() == []


def test_a_program_that_no_commit_has_is_explained(tmp_path: Path) -> None:
    """The command names an environment in the project: the reason names the setting for it."""
    world = GateWorld(tmp_path)
    program = world.root / "node_modules" / "check"  # ignored by git
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    event = world.command("node_modules/check --all")
    assert event.verdict == "could_not_run"
    assert 'add link = ["node_modules"] to [workspace]' in event.reason

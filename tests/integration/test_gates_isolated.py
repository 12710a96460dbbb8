"""How command gates are isolated: selection, fallbacks, networks, work trees, crashes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from editable_world import EditableWorld
from gate_world import GateWorld
from git_world import git
from ostler.config.settings import Settings, WorkspaceSettings
from ostler.engine.steps.gates.isolated import IsolatedRun, run_isolated
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.workspaces.checkout import check_out_commit
from ostler.engine.steps.workspaces.shell import ShellCommand
from ostler.model.event import GateDecided
from ostler.sandbox import bubblewrap, unshare

PLANTED = "raise RuntimeError('planted')\n"
GATE = "pytest -q tests"


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return GateWorld(tmp_path)


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "find_bubblewrap", lambda environ: None)


@pytest.fixture
def no_namespaces(monkeypatch: pytest.MonkeyPatch, no_bubblewrap: None) -> None:
    monkeypatch.setattr(unshare, "find_unshare", lambda environ: None)


def isolation_of(event: GateDecided) -> str:
    assert event.check is not None
    return event.check.isolation


def run(world: GateWorld, command: str, network: bool = True) -> tuple[IsolatedRun, str]:
    """Run a command as other parts of the engine do, and return its output too."""
    found: list[IsolatedRun] = []
    log = world.home / "gates" / "own.log"

    async def act(services: StepServices, context: TaskContext) -> StepResult | None:
        async with check_out_commit(world.commit, log.with_suffix(".setup"), context, services) as directory:
            shell = ShellCommand(command, directory, log, 60.0)
            found.append(await run_isolated(shell, context, services, network))
        return None

    world.run(act)
    return found[0], log.read_text() if log.exists() else ""


@pytest.mark.full
def test_unshare_is_used_without_bubblewrap(tmp_path: Path, no_bubblewrap: None) -> None:
    """It mounts the same paths, and the command cannot undo the mounts."""
    world = EditableWorld(tmp_path, "finder", "src")
    event = world.gate.command(f"git log -1 >/dev/null && ! umount {world.root} && {GATE}")
    assert (event.verdict, isolation_of(event)) == ("pass", "unshare"), world.gate.output(event)
    world.commit({f"{world.package}/sums.py": PLANTED})
    event = world.gate.command(f"touch .venv/new; {GATE}")
    assert event.verdict == "fail" and "planted" in world.gate.output(event)
    assert not (world.environment / "new").exists()


@pytest.mark.full
def test_a_guard_is_used_without_namespaces(tmp_path: Path, no_namespaces: None) -> None:
    """It is weaker, and recorded as such; a command that does not load it has no verdict."""
    world = EditableWorld(tmp_path, "finder", "src")
    event = world.gate.command(GATE)
    assert (event.verdict, isolation_of(event)) == ("pass", "guard"), world.gate.output(event)
    world.commit({f"{world.package}/spare.py": None})
    assert world.gate.command(GATE).verdict == "fail"
    event = world.gate.command("python -I -m pytest -q tests")
    assert event.verdict == "could_not_run" and "no Python program loaded the guard" in event.reason
    alias = tmp_path / "alias"
    alias.symlink_to(world.root)
    for spelling in (world.root, alias):
        world.gate.environ["ALLOWED_X"] = f"{spelling}/src/shop/spare.py"
        event = world.gate.command("python -c 'import os; open(os.environ[\"ALLOWED_X\"])'; exit 0")
        assert event.verdict == "could_not_run" and f"opened files in {spelling}/src/shop" in event.reason


def test_without_links_and_namespaces_the_command_counts(world: GateWorld, no_namespaces: None) -> None:
    """There is nothing that it could use instead of the commit."""
    event = world.command("pwd")
    assert (event.verdict, isolation_of(event)) == ("pass", "none")


def test_a_command_that_names_the_checkout_of_the_user_is_no_verdict(
    world: GateWorld, no_namespaces: None
) -> None:
    """It would test the files of the user; a symbolic link to them is the same."""
    alias = world.temporary / "alias"
    alias.symlink_to(world.root)
    world.environ["HOME"] = str(world.root.parent)
    for spelling in (world.root, alias, f"~/{world.root.name}"):
        event = world.command(f"cd {spelling} && true")
        assert event.verdict == "could_not_run" and event.cause == "isolation"
        assert f"the command -> {world.root}" in event.reason
    assert world.command(f"cd {world.temporary} && true").verdict == "pass"


def test_none_is_no_verdict_if_there_are_links(tmp_path: Path) -> None:
    """The reason names the link; the command does not run."""
    world = EditableWorld(tmp_path, "symlink", "src")
    event = world.gate.command("touch /tmp/ran; true", world.gate.settings(isolation="none"))
    assert event.verdict == "could_not_run" and f"{world.site}/shop -> {world.root}/src/shop" in event.reason
    assert "gates.isolation is none" in event.reason and event.check and event.check.links


def test_bind_over_is_required_if_it_is_named(world: GateWorld, no_bubblewrap: None) -> None:
    """No weaker isolation replaces it."""
    event = world.command("true", world.settings(isolation="bind-over"))
    assert event.verdict == "could_not_run" and "SANDBOX_UNAVAILABLE" in event.reason


def test_a_broken_bubblewrap_is_not_used(world: GateWorld, tmp_path: Path) -> None:
    """The self-test detects a program that does not isolate."""
    folder = tmp_path / "bin"
    folder.mkdir()
    fake = folder / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    fake.chmod(0o755)
    world.environ["PATH"] = f"{folder}:{world.environ['PATH']}"
    event = world.command("true", world.settings(isolation="bind-over"))
    assert event.verdict == "could_not_run" and "self-test" in event.reason


def test_an_isolation_that_cannot_be_set_up_is_no_verdict(
    world: GateWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of bwrap is not a failure of the commit."""
    from ostler.engine.steps.gates import isolated

    original = isolated.wrap_with_bubblewrap
    monkeypatch.setattr(
        isolated, "wrap_with_bubblewrap", lambda program, view: (*original(program, view)[:4], "--no-such")
    )
    event = world.command("true")
    assert event.verdict == "could_not_run" and "could not start the command" in event.reason


def test_the_network_can_be_switched_off(world: GateWorld) -> None:
    """Only the loopback device is left."""
    ended, text = run(world, "cat /proc/net/dev", network=False)
    devices = [line.split(":")[0].strip() for line in text.splitlines() if ":" in line]
    assert (devices, ended.isolation, ended.blocked) == (["lo"], "bind-over", "")
    assert "lo" in run(world, "cat /proc/net/dev")[1]


def test_without_namespaces_the_network_cannot_be_switched_off(world: GateWorld, no_namespaces: None) -> None:
    """The command does not run then."""
    ended, text = run(world, "echo ran", network=False)
    assert "network" in ended.blocked and text == ""


def test_the_commands_own_processes_are_the_only_ones(world: GateWorld) -> None:
    """The environment has the marker of the task, and git finds all objects."""
    command = "env | grep ^OSTLER_ATTEMPT= && git fsck --no-dangling && git log --oneline && ls /proc"
    event = world.command(command)
    assert event.verdict == "pass", world.output(event)
    numbers = [line for line in world.output(event).splitlines() if line.isdecimal()]
    assert len(numbers) < 9


def test_a_stopped_command_has_time_to_clean_up(world: GateWorld, tmp_path: Path) -> None:
    """SIGTERM reaches the command, and bwrap waits for it."""
    command = f"trap 'echo cleaned > {tmp_path}/cleaned; exit 3' TERM; while :; do sleep 0.1; done"
    event = world.command(command, world.settings(timeout_seconds=1.0))
    assert event.verdict == "could_not_run" and "did not exit within" in event.reason
    assert (tmp_path / "cleaned").read_text() == "cleaned\n"


def test_a_project_below_the_repository_is_isolated(tmp_path: Path) -> None:
    """The whole repository is mounted; linked directories are relative to the project."""
    files = {"sub/b.txt": "two\n", "lib/c.txt": "three\n", ".gitignore": ".ostler/\nnode_modules/\n"}
    world = GateWorld(tmp_path, files, prefix="sub")
    (world.root / "node_modules").mkdir()
    (world.root / "node_modules" / "x").write_text("x\n")
    (world.root.parent / "lib" / "c.txt").write_text("the user's\n")
    settings = world.settings(WorkspaceSettings(link=("node_modules",)))
    event = world.command("pwd; cat ../lib/c.txt node_modules/x; git status --porcelain", settings)
    assert world.output(event).splitlines() == [str(world.root), "three", "x"]
    assert isolation_of(event) == "bind-over"


@pytest.mark.full
def test_a_linked_worktree_of_the_user_is_isolated(tmp_path: Path) -> None:
    """The environment of the main checkout is used; its link to that checkout leads to the commit."""
    main = EditableWorld(tmp_path, "path", "src")
    linked = tmp_path / "linked"
    git(main.root, "worktree", "add", "-q", "-b", "other", str(linked))
    main.commit({f"{main.package}/sums.py": PLANTED})
    second = GateWorld.__new__(GateWorld)
    second.__dict__ |= main.gate.__dict__
    from ostler.model.task import Task
    from ostler.project.project import Project

    second.project = Project.open(linked, {}, create=True)
    second.task = second.project.add(Task("Greet", "Say hello."))
    commit, environ = main.gate.commit, main.gate.environ
    second._settle()
    second.commit, second.environ = commit, environ
    event = second.command(GATE)
    assert event.verdict == "fail" and "planted" in second.output(event)
    assert isolation_of(event) == "bind-over"


@pytest.mark.full
def test_an_installed_copy_is_not_used(tmp_path: Path) -> None:
    """A copy of the project in site-packages does not supply a module that the commit deletes."""
    world = EditableWorld(tmp_path, "symlink", "src")
    (world.site / "shop").unlink()
    shutil.copytree(world.root / "src/shop", world.site / "shop")
    info = world.site / "shop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: shop\nVersion: 1.0\n")
    (info / "RECORD").write_text("shop/__init__.py,,\nshop/sums.py,,\n")
    assert world.gate.command(GATE).verdict == "pass"
    world.commit({f"{world.package}/spare.py": None})
    assert world.gate.command(GATE).verdict == "fail"
    world.commit({f"{world.package}/sums.py": PLANTED})
    assert world.gate.command(GATE).verdict == "fail"
    assert world.gate.command("python -I -m pytest -q tests").verdict == "fail"


def test_a_deleted_directory_on_the_path_is_not_taken_from_the_user(tmp_path: Path) -> None:
    """Only untracked directories are mounted from the user's checkout."""
    world = GateWorld(tmp_path, {"bin/tool": "#!/bin/sh\necho tool\n"})
    (world.root / "bin" / "tool").chmod(0o755)
    git(world.root, "commit", "-q", "-am", "executable")
    world.environ["PATH"] = f"{world.root}/bin:{world.environ['PATH']}"
    git(world.root, "rm", "-q", "-r", "--cached", "bin")
    git(world.root, "commit", "-q", "-m", "no tool")
    world.commit = git(world.root, "rev-parse", "HEAD")
    git(world.root, "reset", "-q", "--hard", "HEAD~1")
    assert world.command("tool").verdict == "could_not_run"


def test_a_shared_cargo_target_is_replaced(world: GateWorld) -> None:
    """A build directory that other checkouts use can supply their results."""
    world.environ["ALLOWED_X"] = "yes"
    shared = world.world.root / "cargo-home"
    shared.mkdir()
    (shared / "config.toml").write_text(f'[build]\ntarget-dir = "{shared}"\n')
    world.environ["CARGO_HOME"] = str(shared)
    event = world.command("echo $CARGO_TARGET_DIR")
    assert world.output(event).strip() == str(world.root / "target")
    assert event.check and "private" in event.check.links[0]


def test_a_killed_run_leaves_no_process(tmp_path: Path) -> None:
    """bwrap and all processes in it end with the run."""
    GateWorld(tmp_path)
    seconds = f"301.{os.getpid()}"
    script = Path(__file__).parents[1] / "support" / "gate_world.py"
    path = os.pathsep.join((str(script.parent), *sys.path))
    command = f"setsid sleep {seconds} & sleep {seconds}"
    runner = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path), command], env={**os.environ, "PYTHONPATH": path}
    )
    try:
        assert wait_for(lambda: len(find_sleepers(seconds)) == 2)
    finally:
        runner.send_signal(signal.SIGKILL)
        runner.wait()
    assert wait_for(lambda: not find_sleepers(seconds))


def find_sleepers(seconds: str) -> list[psutil.Process]:
    return [
        one for one in psutil.process_iter(["cmdline"]) if (one.info["cmdline"] or []) == ["sleep", seconds]
    ]


def wait_for(condition: object, limit: float = 30.0) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + limit
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return bool(condition())


def test_settings_default_to_auto() -> None:
    """The strongest isolation is used without any setting."""
    assert Settings().gates.isolation == "auto"


def test_a_path_that_the_commit_has_is_not_taken_from_a_link(world: GateWorld) -> None:
    """`workspace.link` names a directory that a later commit tracks."""
    (world.root / "data").mkdir()
    (world.root / "data" / "x").write_text("the commit's\n")
    git(world.root, "add", "-A")
    git(world.root, "commit", "-q", "-m", "data")
    world.commit = git(world.root, "rev-parse", "HEAD")
    (world.root / "data" / "x").write_text("the user's\n")
    event = world.command("cat data/x", world.settings(WorkspaceSettings(link=("data",))))
    assert world.output(event) == "the commit's\n"


def test_an_environment_in_the_root_of_the_project_is_isolated(tmp_path: Path) -> None:
    """Its parts are mounted one by one."""
    world = EditableWorld(tmp_path, "finder", "src", place=tmp_path / "project")
    (world.root / ".git" / "info" / "exclude").write_text("bin\nlib\nlib64\ninclude\npyvenv.cfg\n")
    event = world.gate.command(GATE)
    assert event.verdict == "pass", world.gate.output(event)
    world.commit({f"{world.package}/sums.py": PLANTED})
    assert world.gate.command(GATE).verdict == "fail"


@pytest.mark.full
def test_another_clone_is_isolated(tmp_path: Path) -> None:
    """An environment that has another clone of the project installed imports the commit."""
    world = EditableWorld(tmp_path, "path", "src")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(world.root), str(clone))
    for name in ("_shop.pth", "shop-1.0.dist-info/direct_url.json"):
        file = world.site / name
        file.write_text(file.read_text().replace(str(world.root), str(clone)))
    assert world.gate.command(GATE).verdict == "pass"
    world.commit({f"{world.package}/sums.py": PLANTED})
    assert world.gate.command(GATE).verdict == "fail"
    assert world.gate.command("python -I -m pytest -q tests").verdict == "fail"


@pytest.mark.full
def test_a_project_behind_a_symbolic_link_is_isolated(tmp_path: Path) -> None:
    """The environment names the project by another path than git."""
    world = EditableWorld(tmp_path, "path", "src")
    alias = tmp_path / "alias"
    alias.symlink_to(world.root)
    (world.site / "_shop.pth").write_text(f"{alias}/src\n")
    world.gate.environ["PATH"] = f"{alias}/.venv/bin:{os.environ['PATH']}"
    world.gate.environ["VIRTUAL_ENV"] = f"{alias}/.venv"
    event = world.gate.command(GATE)
    assert event.verdict == "pass", world.gate.output(event)
    world.commit({f"{world.package}/sums.py": PLANTED})
    assert world.gate.command(GATE).verdict == "fail"

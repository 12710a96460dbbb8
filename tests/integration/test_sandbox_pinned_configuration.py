"""Configuration that agents, editors and shells execute: inside, it is that of the base commit (S5, S6)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import GateWorld
from git_world import World, git
from ostler.calls.sandbox.pinned_configuration import PinnedTree, pin_configuration, remember_setup
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.workspaces.box_files import create_workspace
from ostler.engine.steps.workspaces.checkout import check_out_commit
from ostler.errors import PathEscape
from ostler.git.run import command as git_command
from ostler.sandbox.bubblewrap import find_bubblewrap, wrap_with_bubblewrap
from ostler.sandbox.mounts import Mount, View

BWRAP = find_bubblewrap(os.environ) or ""
pytestmark = pytest.mark.skipif(not BWRAP, reason="bubblewrap is not installed")

HONOURED = (
    *(".claude/settings.json", ".claude/settings.local.json", ".claude/commands/go.md", ".mcp.json"),
    *(".gemini/settings.json", ".codex/config.toml", ".cursor/mcp.json", ".qwen/settings.json"),
    *(
        ".opencode/plugin/a.js",
        "opencode.json",
        "opencode.jsonc",
        ".vscode/tasks.json",
        ".vscode/settings.json",
    ),
    *(".env", ".envrc", ".husky/pre-commit", ".devcontainer/devcontainer.json", ".github/hooks/a.json"),
)
# Starts what each file names, as the real programs do: the command is the text after `run:`.
CLI = "\n".join(
    ("#!/bin/sh", *(f"sed -n 's/^run: //p' {name} 2>/dev/null | sh" for name in HONOURED), "exit 0", "")
)


class Cli:
    """A worktree, and a program that honours the configuration in it."""

    def __init__(self, root: Path, base: dict[str, str] | None = None, prefix: str = "") -> None:
        self.world = World(root)
        self.fired = root / "fired"
        self.fired.mkdir()
        self.program = root / "cli"
        self.program.write_text(CLI)
        self.program.chmod(0o755)
        commit = self.world.commit({"a.txt": "a\n"} | (base or {}))
        self.worktree = self.world.prepare().path
        project = replace(self.world.repository, prefix=prefix)
        self.tree = PinnedTree(self.worktree, commit, project, root / "place")
        self.directory = self.worktree / prefix

    def canary(self, name: str) -> str:
        return f"run: touch {self.fired}/{name.replace('/', '_')}\n"

    def plant(self, *names: str) -> None:
        for name in names:
            (self.directory / name).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / name).write_text(self.canary(name))

    def run(self, program: str = "", *, inside: bool = True) -> subprocess.CompletedProcess[str]:
        mounts = (Mount(self.worktree, self.worktree, writable=True), *pin_configuration(self.tree))
        prefix = wrap_with_bubblewrap(BWRAP, View(mounts, self.directory)) if inside else ()
        argv = [*prefix, "/bin/sh", "-c", program or str(self.program)]
        return subprocess.run(argv, cwd=self.directory, capture_output=True, text=True, check=False)

    def count_fired(self) -> int:
        found = [*self.fired.iterdir()]
        for one in found:
            one.unlink()
        return len(found)


def test_planted_configuration_does_not_run(tmp_path: Path) -> None:
    """What an earlier attempt left has no effect inside; the control outside shows that it would."""
    cli = Cli(tmp_path)
    cli.plant(*HONOURED)
    cli.run(inside=False)
    assert cli.count_fired() == len(HONOURED)
    cli.run()
    assert cli.count_fired() == 0
    assert (cli.worktree / ".mcp.json").read_text().startswith("run:"), "the files stay as they are outside"


def test_changed_configuration_is_that_of_the_base(tmp_path: Path) -> None:
    base = {name: f"the base {name}\n" for name in HONOURED}
    cli = Cli(tmp_path, base)
    cli.plant(*HONOURED)
    assert cli.run("cat " + " ".join(HONOURED)).stdout == "".join(base.values())
    cli.run()
    assert cli.count_fired() == 0


def test_configuration_of_the_base_runs(tmp_path: Path) -> None:
    """The user committed it, so it is trusted; it shows that the program inside honours the files."""
    fired = tmp_path / "fired"
    base = {name: f"run: touch {fired}/{name.replace('/', '_')}\n" for name in HONOURED}
    cli = Cli(tmp_path, base)
    cli.run()
    assert cli.count_fired() == len(HONOURED)


def test_a_directory_is_not_replaced(tmp_path: Path) -> None:
    """A read-only file in a writable directory would be no protection."""
    cli = Cli(tmp_path, {".claude/settings.json": "{}\n", ".mcp.json": "{}\n"})
    for attempt in (
        "mv .claude x",
        "rm -rf .claude",
        "echo x > .claude/settings.json",
        "echo x > .claude/settings.local.json",
        "mv .mcp.json x",
        "rm -f .mcp.json",
        "ln -sf x .mcp.json",
    ):
        assert cli.run(attempt).returncode != 0, attempt
    assert git(cli.worktree, "status", "--porcelain") == ""
    assert cli.run("mkdir .vscode && echo x > .vscode/tasks.json").returncode == 0, (
        "hidden in the next attempt"
    )
    assert cli.run("ls -A .vscode").stdout == ""


def test_exempt_configuration_is_writable(tmp_path: Path) -> None:
    """sandbox.writable_config names a directory, or a part of one."""
    cli = Cli(tmp_path, {".claude/settings.json": "{}\n", ".vscode/settings.json": "{}\n"})
    cli.tree = replace(cli.tree, exempt=(".vscode", ".claude/skills"))
    assert cli.run("echo x > .vscode/tasks.json && echo y > .claude/skills/a.md").returncode == 0
    assert (cli.worktree / ".vscode/tasks.json").read_text() == "x\n"
    assert (cli.worktree / ".claude/skills/a.md").read_text() == "y\n"
    assert cli.run("echo x > .claude/settings.json").returncode != 0


def test_configuration_of_the_setup_is_kept(tmp_path: Path) -> None:
    """What [workspace] brought is trusted with the content that it had before the first agent."""
    cli = Cli(tmp_path, {".vscode/settings.json": "{}\n"})
    (cli.worktree / ".env").write_text("of the user\n")
    (cli.worktree / ".vscode/tasks.json").write_text("of the user too\n")
    remember_setup(cli.tree)
    cli.plant(".env", ".vscode/tasks.json", ".vscode/settings.json")
    found = cli.run("cat .env .vscode/tasks.json .vscode/settings.json").stdout
    assert found == "of the user\nof the user too\n{}\n"


def test_links_of_the_base_are_kept(tmp_path: Path) -> None:
    """The target of a committed link is pinned; a planted link is removed."""
    cli = Cli(tmp_path, {"tools/claude/settings.json": "base\n", ".gemini/settings.json": "base\n"})
    (cli.world.project / ".claude").symlink_to("tools/claude")
    (cli.world.project / ".gemini/linked.json").symlink_to("../tools/claude/settings.json")
    base = cli.world.commit({})
    git(cli.worktree, "reset", "-q", "--hard", base)
    cli.tree = replace(cli.tree, base=base)
    (cli.worktree / "planted").mkdir()
    (cli.worktree / "planted/settings.json").write_text("planted\n")
    (cli.worktree / ".qwen").symlink_to("planted")
    (cli.worktree / ".github").symlink_to("planted")
    (cli.worktree / "tools/claude/settings.json").write_text("planted\n")
    found = cli.run(
        "cat .claude/settings.json .gemini/linked.json; ls -d .qwen .github; echo x > tools/claude/a"
    )
    assert found.stdout == "base\nbase\n" and found.returncode != 0
    assert not os.path.lexists(cli.worktree / ".qwen") and (cli.worktree / "planted").is_dir()


def test_a_project_below_the_root(tmp_path: Path) -> None:
    """The directories from the root down to the project are pinned; a link on the way is refused."""
    cli = Cli(tmp_path, {"packages/a/.mcp.json": "{}\n"}, "packages/a")
    cli.plant(*HONOURED)
    (cli.worktree / "packages/.mcp.json").write_text(cli.canary("between"))
    cli.run()
    cli.run(f"cd ..; {cli.program}")
    assert cli.count_fired() == 0
    (cli.worktree / "packages").rename(cli.worktree / "other")
    (cli.worktree / "packages").symlink_to("other")
    with pytest.raises(PathEscape):
        pin_configuration(cli.tree)


def test_a_file_instead_of_a_directory_is_hidden(tmp_path: Path) -> None:
    cli = Cli(tmp_path, {".claude/settings.json": "{}\n", ".mcp.json": "{}\n"})
    git(cli.worktree, "rm", "-rq", ".claude", ".mcp.json")
    (cli.worktree / ".claude").write_text("x")
    (cli.worktree / ".mcp.json").mkdir()
    (cli.worktree / ".mcp.json/x").write_text("x")
    assert cli.run("cat .claude; ls -A .mcp.json").stdout == ""


def test_git_is_not_started_without_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And once per base otherwise."""
    cli = Cli(tmp_path, {".claude/settings.json": "{}\n"})
    empty = replace(cli.tree, worktree=tmp_path / "place")
    started: list[tuple[str, ...]] = []
    real = git_command.execute_git
    monkeypatch.setattr(
        git_command,
        "execute_git",
        lambda args, *rest, **more: (started.append(args), real(args, *rest, **more))[1],
    )
    assert pin_configuration(empty) == () and not started
    assert len(pin_configuration(cli.tree)) == 1 and started
    count = len(started)
    also = pin_configuration(cli.tree, Path("/elsewhere"))
    assert [str(one.destination) for one in also] == [f"{cli.worktree}/.claude", "/elsewhere/.claude"]
    assert len(started) == count


def test_a_reviewer_does_not_execute_configuration_of_the_work(tmp_path: Path) -> None:
    """The checkout of the reviewed commit has the configuration of the base."""
    world = GateWorld(tmp_path, {".mcp.json": "of the base\n"})
    worktree = world.worktree()
    for name, text in ((".mcp.json", "planted\n"), (".vscode/tasks.json", "planted\n")):
        (worktree.path / name).parent.mkdir(exist_ok=True)
        (worktree.path / name).write_text(text)
    git(worktree.path, "add", "-A")
    git(worktree.path, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "work")
    work = git(worktree.path, "rev-parse", "HEAD")
    found: dict[str, str] = {}

    async def act(services: StepServices, context: TaskContext) -> StepResult | None:
        async with check_out_commit(work, tmp_path / "log", context, services) as directory:
            with create_workspace(directory, context, services).open_mounts() as mounts:
                argv = [*wrap_with_bubblewrap(BWRAP, View(mounts, directory)), "/bin/sh", "-c"]
                command = "cat .mcp.json; ls -A .vscode"
                found["outside"] = subprocess.check_output(
                    ["/bin/sh", "-c", command], cwd=directory, text=True
                )
                found["inside"] = subprocess.check_output([*argv, command], cwd=directory, text=True)
        return None

    world.run(act)
    assert found == {"outside": "planted\ntasks.json\n", "inside": "of the base\n"}

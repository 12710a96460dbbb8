"""Everything in a repository that plain git would run, each with a canary that reports it."""

from __future__ import annotations

import shutil
from pathlib import Path

from git_world import World, git
from ostler.git.repository import Worktree

ATTRIBUTES = """\
*.clean filter=trap-clean
*.smudge filter=trap-smudge
*.process filter=trap-process
*.equals filter=a=b
*.included filter=trap-included
*.text diff=trap-text
*.command diff=trap-command
*.merge merge=trap-merge
"""
SUFFIXES = ("clean", "smudge", "process", "equals", "included", "text", "command", "merge", "plain")
HOOKS = (
    "post-checkout",
    "pre-commit",
    "commit-msg",
    "post-commit",
    "reference-transaction",
    "post-index-change",
)


class Traps:
    """Canaries are files in one directory; the name of a file there is the trap that ran."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.room = world.root / "canaries"
        self.room.mkdir()
        self.config = world.project / ".git" / "config"

    def fired(self) -> set[str]:
        return {path.name for path in self.room.iterdir()}

    def disarm(self) -> None:
        for path in self.room.iterdir():
            path.unlink()

    def script(self, name: str, then: str = "exec cat") -> str:
        """A program that creates its canary and then behaves as a filter that changes nothing."""
        path = self.world.root / f"trap-{name}"
        path.write_text(f'#!/bin/sh\n: > "{self.room / name}"\n{then}\n')
        path.chmod(0o755)
        return str(path)

    def set(self, key: str, name: str, *, prefix: str = "", file: Path | None = None) -> None:
        git(self.world.project, "config", "--file", str(file or self.config), key, prefix + self.script(name))


def commit_bait(world: World) -> None:
    """Files that the traps' attributes match, in the history that every worktree starts from."""
    files = {f"bait.{suffix}": f"{suffix}\n" for suffix in SUFFIXES}
    world.commit({".gitattributes": ATTRIBUTES, **files}, "bait")


def plant_in_configuration(traps: Traps) -> None:
    traps.set("core.fsmonitor", "fsmonitor")
    traps.set("diff.external", "diff-external")
    traps.set("gpg.program", "gpg")
    traps.set("gpg.ssh.program", "gpg-ssh")
    traps.set("gpg.ssh.defaultKeyCommand", "gpg-key-command")
    for key in ("commit.gpgSign", "tag.gpgSign", "log.showSignature"):
        git(traps.world.project, "config", key, "true")
    traps.set("filter.trap-clean.clean", "filter-clean")
    traps.set("filter.trap-smudge.smudge", "filter-smudge")
    traps.set("filter.trap-process.process", "filter-process")
    traps.set("filter.a=b.clean", "filter-with-equals-sign")
    traps.set("diff.trap-text.textconv", "textconv")
    traps.set("diff.trap-command.command", "diff-command")
    traps.set("merge.trap-merge.driver", "merge-driver")
    traps.set("core.pager", "pager")
    traps.set("pager.log", "pager-log")
    traps.set("core.editor", "editor")
    traps.set("sequence.editor", "sequence-editor")
    traps.set("core.sshCommand", "ssh")
    traps.set("core.askPass", "askpass")
    traps.set("core.alternateRefsCommand", "alternate-refs")
    traps.set("credential.helper", "credential", prefix="!")
    traps.set("alias.status", "alias", prefix="!")
    traps.set("submodule.nested.update", "submodule-update", prefix="!")
    traps.set("trailer.Task-Id.command", "trailer")
    traps.set("remote.evil.uploadpack", "uploadpack")


def plant_by_include(traps: Traps) -> None:
    """A file that the configuration includes, writable for every agent."""
    included = traps.world.root / "included.cfg"
    traps.set("filter.trap-included.clean", "filter-included", file=included)
    git(traps.world.project, "config", "include.path", str(included))


def plant_hooks(traps: Traps, worktree: Worktree) -> None:
    for name in HOOKS:
        hook = traps.world.project / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        shutil.copy(traps.script(f"hook-{name}"), hook)
    own = traps.world.root / "own-hooks"
    own.mkdir()
    shutil.copy(traps.script("worktree-config-hook"), own / "pre-commit")
    git(traps.world.project, "config", "extensions.worktreeConfig", "true")
    file = worktree.repository.git_dir / "config.worktree"
    git(traps.world.project, "config", "--file", str(file), "core.hooksPath", str(own))


def plant_nested(traps: Traps, worktree: Worktree) -> None:
    """A repository inside the worktree, in the index, with its own monitor."""
    nested = worktree.path / "nested"
    git(worktree.path, "init", "-q", "nested")
    git(nested, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
    head = git(nested, "rev-parse", "HEAD")
    git(worktree.path, "update-index", "--add", "--cacheinfo", f"160000,{head},nested")
    traps.set("core.fsmonitor", "nested-fsmonitor", file=nested / ".git" / "config")
    (nested / "dirty").write_text("x")


def plant_commondir(traps: Traps, worktree: Worktree) -> None:
    """The registration leads to a copy of the repository with its own configuration."""
    copy = traps.world.root / "copy.git"
    shutil.copytree(traps.world.project / ".git", copy, symlinks=True)
    traps.set("core.fsmonitor", "commondir-fsmonitor", file=copy / "config")
    (worktree.repository.git_dir / "commondir").write_text(f"{copy}\n")


def plant_pointer(traps: Traps, worktree: Worktree) -> None:
    """The worktree's .git becomes a repository that the agent made."""
    evil = traps.world.root / "evil.git"
    shutil.copytree(traps.world.project / ".git", evil, symlinks=True)
    git(traps.world.project, "config", "--file", str(evil / "config"), "core.bare", "false")
    traps.set("core.fsmonitor", "pointer-fsmonitor", file=evil / "config")
    (worktree.path / ".git").write_text(f"gitdir: {evil}\n")


def touch_bait(worktree: Worktree) -> None:
    for suffix in SUFFIXES:
        (worktree.path / f"bait.{suffix}").write_text(f"{suffix}, changed by the agent\n")
        (worktree.path / f"new.{suffix}").write_text("new\n")

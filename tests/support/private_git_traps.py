"""What an agent can plant in its private git directory against a git or a reader outside of the sandbox."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

from git_traps import ATTRIBUTES, HOOKS, SUFFIXES, Traps
from git_world import git
from private_git_world import Inside

SECRET = "a secret of the host"
Plant = Callable[[Inside, Traps], None]


def private_dir(inside: Inside) -> Path:
    return inside.place / "git"


def write_object(inside: Inside, kind: str, content: bytes, size: int | None = None) -> str:
    """Write a loose object as it is, without a check of git."""
    data = f"{kind} {len(content) if size is None else size}\0".encode() + content
    name = sha1(data, usedforsecurity=False).hexdigest()
    path = inside.place / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(data))
    return name


def commit_tree(inside: Inside, tree: bytes) -> None:
    """Set the task's branch to a commit whose tree has these bytes."""
    name = write_object(inside, "tree", tree)
    head = git(inside.worktree.path, "rev-parse", "HEAD")
    person = "a <a@b> 1 +0000"
    text = f"tree {name}\nparent {head}\nauthor {person}\ncommitter {person}\n\nx\n"
    point_branch(inside, write_object(inside, "commit", text.encode()))


def point_branch(inside: Inside, value: str) -> None:
    path = private_dir(inside) / inside.worktree.ref
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{value}\n")


def entry(mode: str, name: str, target: str) -> bytes:
    return f"{mode} {name}\0".encode() + bytes.fromhex(target)


def hooks(inside: Inside, traps: Traps) -> None:
    for name in HOOKS:
        hook = private_dir(inside) / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        shutil.copy(traps.script(f"hook-{name}"), hook)


def programs_in_config(inside: Inside, traps: Traps) -> None:
    file = private_dir(inside) / "config"
    traps.set("core.fsmonitor", "fsmonitor", file=file)
    traps.set("core.pager", "pager", file=file)
    traps.set("core.editor", "editor", file=file)
    traps.set("core.sshCommand", "ssh", file=file)
    traps.set("diff.external", "external", file=file)
    traps.set("alias.status", "alias", prefix="!", file=file)
    traps.set("gpg.program", "gpg", file=file)
    git(traps.world.project, "config", "--file", str(file), "commit.gpgSign", "true")


def filters(inside: Inside, traps: Traps) -> None:
    file = private_dir(inside) / "config"
    for name in ("clean", "smudge", "process"):
        traps.set(f"filter.trap-{name}.{name}", f"filter-{name}", file=file)
    (private_dir(inside) / "info" / "attributes").write_text(ATTRIBUTES)
    for suffix in SUFFIXES:
        (inside.worktree.path / f"bait.{suffix}").write_text("changed\n")


def included_config(inside: Inside, traps: Traps) -> None:
    included = traps.world.root / "included.cfg"
    traps.set("core.fsmonitor", "included", file=included)
    git(
        traps.world.project,
        "config",
        "--file",
        str(private_dir(inside) / "config"),
        "include.path",
        str(included),
    )


def evil_common_directory(inside: Inside, traps: Traps) -> None:
    copy = traps.world.root / "common.git"
    shutil.copytree(traps.world.project / ".git", copy, symlinks=True)
    traps.set("core.fsmonitor", "commondir", file=copy / "config")
    (private_dir(inside) / "commondir").write_text(f"{copy}\n")


def foreign_alternates(inside: Inside, traps: Traps) -> None:
    (inside.place / "objects" / "info" / "alternates").write_text("/etc\n/proc/self/root\n")
    shutil.rmtree(inside.place / "objects" / "info")
    (inside.place / "objects" / "info").symlink_to("/etc")


def nested_repository(inside: Inside, traps: Traps) -> None:
    nested = inside.worktree.path / "nested"
    git(inside.worktree.path, "init", "-q", "nested")
    traps.set("core.fsmonitor", "nested", file=nested / ".git" / "config")
    modules = private_dir(inside) / "modules" / "evil"
    shutil.copytree(nested / ".git", modules)


def links_for_head_and_index(inside: Inside, traps: Traps) -> None:
    for name in ("HEAD", "index", "packed-refs", "config", "shallow"):
        (private_dir(inside) / name).unlink(missing_ok=True)
        (private_dir(inside) / name).symlink_to(traps.world.root / "secret")


def pipes(inside: Inside, traps: Traps) -> None:
    for name in ("HEAD", "index", "packed-refs", "refs/heads/pipe"):
        (private_dir(inside) / name).unlink(missing_ok=True)
        os.mkfifo(private_dir(inside) / name)
    (inside.place / "objects" / "ab").mkdir(exist_ok=True)
    os.mkfifo(inside.place / "objects" / "ab" / ("c" * 38))


def odd_names(inside: Inside, traps: Traps) -> None:
    head = git(inside.worktree.path, "rev-parse", "HEAD")
    names = (
        "-x",
        "a b",
        "x.lock",
        "..",
        ".hidden",
        "a\x01b",
        "@{x",
        "x~1",
        "x:y",
        "--upload-pack=x",
        "é\udcff",
    )
    for name in names[:3] + names[4:]:
        (private_dir(inside) / "refs" / "heads" / name).write_text(f"{head}\n")
    traversal = ("refs/heads/../../config", "refs/heads/../hooks/x", "/etc/x", "refs/heads/x\0y", "HEAD", "")
    lines = "".join(f"{head} {name}\n" for name in (*traversal, *(f"refs/heads/{one}" for one in names)))
    (private_dir(inside) / "packed-refs").write_text(lines, errors="surrogateescape")


def symbolic_circle(inside: Inside, traps: Traps) -> None:
    heads = private_dir(inside) / "refs" / "heads"
    (heads / "a").write_text("ref: refs/heads/b\n")
    (heads / "b").write_text("ref: refs/heads/a\n")
    (heads / "up").write_text("ref: ../../../../etc/passwd\n")
    point_branch(inside, "ref: refs/heads/main")


def many_directories(inside: Inside, traps: Traps) -> None:
    place = private_dir(inside) / "refs" / "heads"
    for _ in range(300):
        place /= "d"
    place.mkdir(parents=True)


def linked_objects(inside: Inside, traps: Traps) -> None:
    secret = traps.world.root / "secret"
    objects = inside.place / "objects"
    (objects / "aa").mkdir(exist_ok=True)
    (objects / "aa" / ("b" * 38)).symlink_to(secret)
    (objects / "bb").symlink_to(traps.world.root)
    shutil.rmtree(objects / "pack", ignore_errors=True)
    (objects / "pack").symlink_to(traps.world.root)
    point_branch(inside, "aa" + "b" * 38)


def broken_pack(inside: Inside, traps: Traps) -> None:
    pack = inside.place / "objects" / "pack"
    pack.mkdir(exist_ok=True)
    (pack / f"pack-{'a' * 40}.pack").write_bytes(b"PACK\0\0\0\2\0\0\0\1junk" + bytes(20))
    (pack / f"pack-{'a' * 40}.idx").write_bytes(b"\377tOc" + bytes(1100))
    (pack / "pack-../../x.pack").parent.parent.mkdir(exist_ok=True)


def bomb(inside: Inside, traps: Traps) -> None:
    """A commit of three gigabytes, which is three megabytes on the disk."""
    packer = zlib.compressobj(1)
    part = bytes(1 << 20)
    data = [packer.compress(f"commit {3 << 30}\0".encode()), *(packer.compress(part) for _ in range(64))]
    path = inside.place / "objects" / "cc" / ("d" * 38)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join((*data, packer.flush())))
    point_branch(inside, "cc" + "d" * 38)


def git_directory_in_tree(inside: Inside, traps: Traps) -> None:
    script = write_object(inside, "blob", b"#!/bin/sh\n")
    inner = write_object(inside, "tree", entry("100755", "post-checkout", script))
    commit_tree(inside, entry("40000", ".git", write_object(inside, "tree", entry("40000", "hooks", inner))))


def submodule_address(inside: Inside, traps: Traps) -> None:
    text = b'[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch${IFS}x\n'
    commit_tree(inside, entry("100644", ".gitmodules", write_object(inside, "blob", text)))


def link_to_nothing(inside: Inside, traps: Traps) -> None:
    commit_tree(inside, entry("100644", "missing", "ab" * 20))


def not_a_commit(inside: Inside, traps: Traps) -> None:
    point_branch(inside, write_object(inside, "blob", b"x"))


def grafts_and_replacements(inside: Inside, traps: Traps) -> None:
    head = git(inside.worktree.path, "rev-parse", "HEAD")
    other = write_object(inside, "blob", b"replaced")
    (private_dir(inside) / "refs" / "replace").mkdir()
    (private_dir(inside) / "refs" / "replace" / head).write_text(f"{other}\n")
    (private_dir(inside) / "info" / "grafts").write_text(f"{head} {'a' * 40}\n")
    (private_dir(inside) / "shallow").write_text(f"{head}\n")


def split_index(inside: Inside, traps: Traps) -> None:
    inside.sh("git update-index --split-index; rm -f /run/ostler/git/sharedindex.*")


PLANTS: tuple[Plant, ...] = (
    *(hooks, programs_in_config, filters, included_config, evil_common_directory, foreign_alternates),
    *(nested_repository, links_for_head_and_index, pipes, odd_names, symbolic_circle, many_directories),
    *(linked_objects, broken_pack, bomb, git_directory_in_tree, submodule_address, link_to_nothing),
    *(not_a_commit, grafts_and_replacements, split_index),
)

"""What a task may leave in its worktree and in the registration of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from git_world import git
from warm_world import LEAK

Mess = Callable[[Path, Path], None]


def leave_files(tree: Path, admin: Path) -> None:
    (tree / "build" / "deep").mkdir(parents=True)
    (tree / "build" / "deep" / LEAK).write_text(LEAK)
    (tree / "sub" / "untracked").write_text(LEAK)
    (tree / "sub" / "empty").mkdir()
    (tree / os.fsdecode(b"bad-\xff")).write_text(LEAK)
    os.mkfifo(tree / "fifo")
    (tree / "sealed").mkdir()
    (tree / "sealed" / "file").write_text(LEAK)
    (tree / "sealed").chmod(0)


def change_content(tree: Path, admin: Path) -> None:
    (tree / "a.txt").write_text(LEAK)


def change_content_unseen(tree: Path, admin: Path) -> None:
    """Change a file with the same size and the same time."""
    before = (tree / "a.txt").stat()
    (tree / "a.txt").write_text("eno\n")
    os.utime(tree / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))


def change_modes(tree: Path, admin: Path) -> None:
    (tree / "a.txt").chmod(0o777)
    (tree / "b.txt").chmod(0)
    (tree / "sub" / "c.txt").chmod(0o666)
    (tree / "run.sh").chmod(0o644)


def change_kinds(tree: Path, admin: Path) -> None:
    (tree / "a.txt").unlink()
    (tree / "a.txt").mkdir()
    (tree / "a.txt" / "inside").write_text(LEAK)
    (tree / "b.txt").unlink()
    (tree / "b.txt").symlink_to("/etc/hostname")
    (tree / "link").unlink()
    (tree / "link").write_text(LEAK)


def lead_a_folder_out(tree: Path, admin: Path) -> None:
    outside = tree.parents[3] / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "c.txt").write_text("precious")
    shutil.rmtree(tree / "sub")
    (tree / "sub").symlink_to(outside)


def put_a_file_for_a_folder(tree: Path, admin: Path) -> None:
    shutil.rmtree(tree / "sub")
    (tree / "sub").write_text(LEAK)


def delete_everything(tree: Path, admin: Path) -> None:
    for path in tree.iterdir():
        if path.name not in (".git", "vendored"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def link_from_outside(tree: Path, admin: Path) -> None:
    os.link(tree / "a.txt", tree.parents[3] / "another-name")


def hide_changes_from_git(tree: Path, admin: Path) -> None:
    git(tree, "update-index", "--assume-unchanged", "a.txt")
    git(tree, "update-index", "--skip-worktree", "b.txt")
    (tree / "a.txt").write_text(LEAK)
    (tree / "b.txt").write_text(LEAK)


def damage_the_index(tree: Path, admin: Path) -> None:
    (admin / "index").write_bytes(b"DIRC" + LEAK.encode())
    (admin / "index.lock").write_text(LEAK)


def commit_work(tree: Path, admin: Path) -> None:
    (tree / "work.txt").write_text(LEAK)
    (tree / "sub" / "c.txt").unlink()
    git(tree, "add", "-A", "--", "work.txt", "sub")
    git(tree, "commit", "-qm", LEAK)
    git(tree, "switch", "-q", "--detach", "HEAD~1")
    (tree / "staged").write_text(LEAK)
    git(tree, "add", "staged")


def write_into_the_registration(tree: Path, admin: Path) -> None:
    (admin / "hooks").mkdir()
    (admin / "info").mkdir(exist_ok=True)
    (admin / "rebase-merge").mkdir()
    for name in ("ostler-prepared", "config.worktree", "hooks/post-checkout", "info/exclude", "MERGE_HEAD"):
        (admin / name).write_text(f"# {LEAK}\n")


def write_attributes(tree: Path, admin: Path) -> None:
    """Write attributes that change how other files are checked out."""
    (tree / ".gitattributes").write_text("* text eol=crlf\n")
    (tree / "sub" / ".gitattributes").write_text("* text eol=crlf\n")
    (tree / "a.txt").write_text(LEAK)
    (tree / "sub" / "c.txt").write_text(LEAK)


def nest_repositories(tree: Path, admin: Path) -> None:
    git(tree, "init", "-q", "nested")
    (tree / "nested" / "file").write_text(LEAK)
    (tree / ".git").unlink()
    git(tree, "init", "-q")
    (tree / ".git" / "hooks" / "post-checkout").write_text(f"#!/bin/sh\necho {LEAK} > {LEAK}\n")
    (tree / ".git" / "hooks" / "post-checkout").chmod(0o755)


def change_a_folders_mode(tree: Path, admin: Path) -> None:
    (tree / "sub").chmod(0o700)


def put_attributes_on_a_folder(tree: Path, admin: Path) -> None:
    os.setxattr(tree / "sub", "user.leak", LEAK.encode())


def fill_the_submodule(tree: Path, admin: Path) -> None:
    (tree / "vendored" / "file").write_text(LEAK)


def remove_the_submodule(tree: Path, admin: Path) -> None:
    (tree / "vendored").rmdir()


def bury(tree: Path, admin: Path) -> None:
    """Create a tree deeper than the longest path."""
    here = os.open(tree / "sub", os.O_RDONLY)
    for _ in range(600):
        os.mkdir("a-rather-long-name", dir_fd=here)
        below = os.open("a-rather-long-name", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


USED_AGAIN = [
    leave_files,
    change_content,
    change_content_unseen,
    change_modes,
    change_kinds,
    lead_a_folder_out,
    put_a_file_for_a_folder,
    delete_everything,
    link_from_outside,
    hide_changes_from_git,
    damage_the_index,
    commit_work,
    write_into_the_registration,
    write_attributes,
    nest_repositories,
    fill_the_submodule,
    bury,
]
DOUBTFUL = [change_a_folders_mode, put_attributes_on_a_folder, remove_the_submodule]

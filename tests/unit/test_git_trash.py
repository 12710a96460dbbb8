from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from ostler.git.worktree import trash
from ostler.git.worktree.trash import (
    checking_out,
    discard,
    empty_trash,
    empty_trash_later,
    wait_for_checkouts,
)

DEEP = 1500


def make_mess(root: Path) -> None:
    root.mkdir()
    (root / ("n" * 255)).write_text("long name")
    (root / "line\nbreak").write_text("x")
    (root / "-rf").write_text("x")
    (root / os.fsdecode(b"bad-\xff-utf8")).write_text("x")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
    sealed = root / "sealed"
    (sealed / "inner").mkdir(parents=True)
    (sealed / "inner" / "file").write_text("x")
    (sealed / "inner" / "file").chmod(0)
    (sealed / "inner").chmod(0)
    sealed.chmod(0)


def make_deep(root: Path) -> None:
    """Create a tree deeper than Python's recursion limit and longer than any path."""
    here = os.open(root, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("a-rather-long-name", dir_fd=here)
        below = os.open("a-rather-long-name", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_every_kind_of_mess_goes(tmp_path: Path):
    """Pipes, sockets, odd names, sealed directories and deep trees are deleted without being opened."""
    make_mess(tmp_path / "mess")
    make_deep(tmp_path / "mess")
    (tmp_path / "mess").chmod(0)
    discard(tmp_path / "mess", tmp_path)
    assert not (tmp_path / "mess").exists()
    assert empty_trash(tmp_path) == 0
    assert os.listdir(tmp_path / ".trash") == []


def test_links_are_removed_and_not_followed(tmp_path: Path):
    """The target of a link outside of the trash is unchanged."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("p")
    (tmp_path / "mess").mkdir()
    os.symlink(outside, tmp_path / "mess" / "link")
    os.symlink(outside, tmp_path / "link")
    discard(tmp_path / "mess", tmp_path)
    discard(tmp_path / "link", tmp_path)
    assert empty_trash(tmp_path) == 0
    assert (outside / "precious").read_text() == "p"


def test_nothing_to_discard(tmp_path: Path):
    """A missing path needs no trash."""
    assert discard(tmp_path / "missing", tmp_path) is None
    assert empty_trash(tmp_path) == 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "link", "link to nowhere"])
def test_something_else_in_the_place_of_the_trash_goes(tmp_path: Path, kind: str):
    """A file or a link at that path becomes a directory, and the link's target is unchanged."""
    outside, trash, mess = tmp_path / "outside", tmp_path / ".trash", tmp_path / "mess"
    outside.mkdir()
    (outside / "precious").write_text("p")
    mess.mkdir()
    trash.write_text("") if kind == "file" else trash.symlink_to(outside if kind == "link" else "nowhere")
    assert empty_trash(tmp_path) == 0
    discard(mess, tmp_path)
    assert not mess.exists() and os.listdir(outside) == ["precious"]
    assert trash.is_dir() and not trash.is_symlink()
    assert empty_trash(tmp_path) == 0 and os.listdir(trash) == []


def test_nothing_is_deleted_beside_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The background waits until the checkout has ended, or for so long."""
    monkeypatch.setattr(trash, "_LONGEST_WAIT_SECONDS", 30.0)
    (tmp_path / "released" / "sub").mkdir(parents=True)
    discard(tmp_path / "released", tmp_path)
    with checking_out():
        empty_trash_later(tmp_path)
        time.sleep(0.1)
        assert len(os.listdir(tmp_path / ".trash")) == 1
    deadline = time.monotonic() + 30
    while os.listdir(tmp_path / ".trash"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    monkeypatch.setattr(trash, "_LONGEST_WAIT_SECONDS", 0.0)
    with checking_out():
        wait_for_checkouts()

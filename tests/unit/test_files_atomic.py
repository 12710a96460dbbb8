"""A written file is old, absent or complete."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ostler.errors import Code, OstlerError
from ostler.files import atomic, failpoint
from ostler.files.atomic import (
    create_exclusive,
    make_private_dir,
    remove_temporary_files,
    write_atomic,
    write_projection,
)


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoint.arm("")


@pytest.fixture(params=[write_atomic, write_projection], ids=["atomic", "projection"])
def write(request: pytest.FixtureRequest) -> Callable[[Path, bytes], None]:
    return request.param


def test_replaces_whole(tmp_path: Path, write: Callable[[Path, bytes], None]) -> None:
    """The new content replaces the old one, and no other file is left."""
    path = tmp_path / "state.yaml"
    for data in (b"old", b"x" * 3_000_000, b""):
        write(path, data)
        assert path.read_bytes() == data
    assert [file.name for file in tmp_path.iterdir()] == ["state.yaml"]


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_private_whatever_the_umask(tmp_path: Path, umask: int, write: Callable[[Path, bytes], None]) -> None:
    """Files are 0600, and a requested mode is set exactly."""
    old = os.umask(umask)
    try:
        write(tmp_path / "private", b"x")
        write_atomic(tmp_path / "open", b"x", mode=0o644)
        make_private_dir(tmp_path / "a" / "b")
    finally:
        os.umask(old)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("private", "open", "a", "a/b")]
    assert modes == [0o600, 0o644, 0o700, 0o700]


def test_private_dir_is_tightened(tmp_path: Path) -> None:
    """A directory that others can read becomes private."""
    (tmp_path / "state").mkdir(mode=0o755)
    make_private_dir(tmp_path / "state")
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_private_dir_is_no_link(tmp_path: Path) -> None:
    """A link planted at the path of Ostler's directory is not followed."""
    (tmp_path / "target").mkdir(mode=0o755)
    (tmp_path / "state").symlink_to("target")
    with pytest.raises(OstlerError, match="state"):
        make_private_dir(tmp_path / "state")
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o755


def test_link_is_replaced_not_followed(tmp_path: Path, write: Callable[[Path, bytes], None]) -> None:
    """Writing to the path of a symbolic or hard link does not change its target."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "soft").symlink_to(victim)
    (tmp_path / "hard").hardlink_to(victim)
    write(tmp_path / "soft", b"new")
    write(tmp_path / "hard", b"new")
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "soft").is_symlink()


@pytest.mark.parametrize("point", ["file.write", "file.flush", "file.rename"])
@pytest.mark.parametrize(("action", "code"), [("enospc", Code.DISK_FULL), ("eio", Code.STORAGE_ERROR)])
def test_failure_leaves_the_old_file(tmp_path: Path, point: str, action: str, code: Code) -> None:
    """If any step before the rename fails, the old content is kept and no temporary file is left."""
    path = tmp_path / "file"
    write_atomic(path, b"old")
    failpoint.arm(f"{point}:{action}")
    with pytest.raises(OstlerError, match=str(path)) as caught:
        write_atomic(path, b"new")
    assert caught.value.code is code
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_failed_flush_of_the_directory_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename that was not flushed to the disk is not reported as done."""
    real = os.fsync

    def fsync(fd: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            raise OSError(errno.EIO, "injected")
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OstlerError) as caught:
        write_atomic(tmp_path / "file", b"new")
    assert caught.value.code is Code.STORAGE_ERROR


def test_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during the write removes the temporary file and is raised again."""

    def interrupt(fd: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic, "sync_file", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "file", b"new")
    assert list(tmp_path.iterdir()) == []


def test_missing_directory_is_named(tmp_path: Path) -> None:
    """The error for a missing directory names it."""
    with pytest.raises(OstlerError, match=str(tmp_path / "gone" / "file")) as caught:
        write_atomic(tmp_path / "gone" / "file", b"x")
    assert caught.value.code is Code.WORKSPACE_WRITE_FAILED


def test_flushes_file_then_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A durable write flushes the bytes, renames, and flushes the directory; a projection flushes neither."""
    flushed: list[str] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        kind = "directory" if os.path.isdir(f"/proc/self/fd/{fd}") else "file"
        flushed.append(f"{kind} {(tmp_path / 'file').exists()}")
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomic(tmp_path / "file", b"x")
    assert flushed == ["file False", "directory True"]
    write_projection(tmp_path / "file", b"x")
    assert len(flushed) == 2


def test_create_once(tmp_path: Path) -> None:
    """The first creation is kept completely; later ones do not change it."""
    path = tmp_path / "new"
    won: list[bytes] = []

    def create(data: bytes) -> None:
        if create_exclusive(path, data):
            won.append(data)

    threads = [threading.Thread(target=create, args=(bytes([number]) * 100_000,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [path.read_bytes()]
    assert [file.name for file in tmp_path.iterdir()] == ["new"]


def test_leftovers_of_the_dead_are_removed(tmp_path: Path) -> None:
    """The temporary files of a killed writer are removed; those of a running one and other files stay."""
    pid = os.fork()
    if pid == 0:
        failpoint.arm("file.rename:kill")
        write_atomic(tmp_path / "file", b"x")
    os.waitpid(pid, 0)
    living = tmp_path / f".{os.getpid()}-0123456789abcdef.tmp"
    foreign = tmp_path / ".vim.tmp"
    living.touch()
    foreign.touch()
    assert len(list(tmp_path.glob(".*.tmp"))) == 3
    assert remove_temporary_files(tmp_path) == 1
    assert set(tmp_path.iterdir()) == {living, foreign}


@pytest.mark.parametrize("plant", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_a_planted_temporary_file_is_not_written_to(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[Path, Path], None],
    write: Callable[[Path, bytes], None],
) -> None:
    """A link that gets the name of the temporary file just before its creation is not followed."""
    victim, real = tmp_path / "victim", os.open
    victim.write_bytes(b"precious")
    victim.chmod(0o640)

    def open_after_planting(path: str, flags: int, *mode: int, **directory: int) -> int:
        if flags & os.O_CREAT and not os.path.lexists(tmp_path / path):
            plant(victim, tmp_path / path)
        return real(path, flags, *mode, **directory)

    monkeypatch.setattr(os, "open", open_after_planting)
    with suppress(OstlerError, FileExistsError):
        write(tmp_path / "file", b"new")
    assert victim.read_bytes() == b"precious"
    assert victim.stat().st_mode & 0o777 == 0o640


def test_a_directory_in_the_place_of_a_file_leaves_no_open_descriptor(tmp_path: Path) -> None:
    """The write is refused; a descriptor for each attempt would use up those of a worker."""
    (tmp_path / "state.yaml").mkdir()
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(OstlerError):
        atomic.write_changed_projection(tmp_path / "state.yaml", b"x")
    assert len(os.listdir("/dev/fd")) == before

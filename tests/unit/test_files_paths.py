"""Paths that cannot leave their root."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.errors import Code, PathEscape
from ostler.files import paths
from ostler.files.paths import open_beneath, resolve_beneath

BAD = [
    "",
    ".",
    "./",
    "/",
    "/etc/passwd",
    "../x",
    "a/../../x",
    "a/..",
    "~",
    "~root/x",
    "a\0b",
    "/proc/self/environ",
    "\ud800",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with hostile links and files."""
    (tmp_path / "secret").write_text("secret")
    root = tmp_path / "root"
    (root / "plain" / "deep").mkdir(parents=True)
    (root / "plain" / "file").write_text("mine")
    (root / "out").symlink_to(tmp_path)
    (root / "inside").symlink_to("plain")
    (root / "dangling").symlink_to("nowhere")
    (root / "leak").symlink_to(tmp_path / "secret")
    (root / "self").symlink_to("/proc/self")
    return root


@pytest.fixture(params=["kernel", "steps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "steps":
        monkeypatch.setattr(paths, "_open_in_kernel", lambda *_: None)
    return request.param


LINKED = ["out/secret", "out", "inside/file", "dangling", "leak", "self/environ", "plain/../leak"]


@pytest.mark.parametrize("relative", BAD + LINKED)
def test_escapes_are_refused(root: Path, way: str, relative: str) -> None:
    """A path that leaves the root, or crosses a link, is not resolved, read or created."""
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT):
        with pytest.raises(PathEscape) as caught:
            open_beneath(root, relative, flags)
        assert caught.value.code is Code.PATH_ESCAPE
    with pytest.raises(PathEscape):
        resolve_beneath(root, relative)
    assert not (root / "nowhere").exists()


@pytest.mark.parametrize("relative", ["plain/file", "./plain//file", "plain/./file"])
def test_plain_paths_open(root: Path, way: str, relative: str) -> None:
    """A path below the root opens in every spelling."""
    with os.fdopen(open_beneath(root, relative, os.O_RDONLY)) as file:
        assert file.read() == "mine"
    assert resolve_beneath(root, relative) == root / "plain" / "file"


def test_new_file_is_made_below(root: Path, way: str) -> None:
    """A new file is private, and children do not inherit it."""
    fd = open_beneath(root, "plain/deep/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        assert os.fstat(fd).st_mode & 0o777 == 0o600
        assert not os.get_inheritable(fd)
    finally:
        os.close(fd)
    assert (root / "plain" / "deep" / "new").exists()


def test_directory_opens(root: Path, way: str) -> None:
    """A directory below the root can be opened."""
    os.close(open_beneath(root, "plain/deep", os.O_RDONLY | os.O_DIRECTORY))


@pytest.mark.parametrize("relative", ["gone", "gone/file", "plain/file/x"])
def test_missing_is_not_an_escape(root: Path, way: str, relative: str) -> None:
    """A missing path is reported as missing."""
    with pytest.raises((FileNotFoundError, NotADirectoryError)):
        open_beneath(root, relative, os.O_RDONLY)
    assert resolve_beneath(root, relative) == root / relative


def test_fifo_and_socket_never_hang(root: Path, way: str) -> None:
    """A planted pipe or socket is refused at once without blocking."""
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind(str(root / "s"))
        with pytest.raises(PathEscape):
            open_beneath(root, "fifo", os.O_RDONLY)
        with pytest.raises(OSError):
            open_beneath(root, "s", os.O_RDONLY)


def test_no_descriptor_is_left(root: Path, way: str) -> None:
    """Every path closes its descriptors, with and without an error."""
    before = len(os.listdir("/proc/self/fd"))
    for relative in ("out/secret", "plain/gone", "../x"):
        with pytest.raises((PathEscape, FileNotFoundError)):
            open_beneath(root, relative, os.O_RDONLY)
    os.close(open_beneath(root, "plain/file", os.O_RDONLY))
    assert len(os.listdir("/proc/self/fd")) == before


@given(st.text(alphabet=st.sampled_from("a./~\0\\\n é\ud800"), max_size=12))
def test_any_text_stays_below(text: str) -> None:
    """For any text the result is a path below the root or a PathEscape."""
    root = Path("/nonexistent-root")
    try:
        found = resolve_beneath(root, text)
    except PathEscape:
        return
    assert Path(os.path.normpath(found)).is_relative_to(root)
    assert found != root

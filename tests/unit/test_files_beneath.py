"""Files of a workspace cannot leave it with any path, link or race."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count, cycle
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from ostler.errors import Code, OstlerError, PathEscape
from ostler.files import failpoint, paths
from ostler.files.beneath import exists_and_not_empty, read_beneath, write_beneath
from unprivileged import unprivileged

LIMIT = 1000
NO_PATHS = [
    *["", ".", "./", "/", "/etc/passwd", "..", "../secret", "a/../../secret", "a/..", "~", "~root/x"],
    *["a\0b", "\0", "\ud800", "x" * 256, "a/" * 2050 + "x", "/proc/self/environ"],
]
LEAVING = [
    "out",
    "out/secret",
    "leak",
    "absolute/file",
    "chain/secret",
    "up",
    "self/environ",
    "round",
    "round/x",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with hostile links and files."""
    (tmp_path / "secret").write_text("secret")
    root = tmp_path / "root"
    (root / "plain" / "deep").mkdir(parents=True)
    (root / "plain" / "file").write_text("mine")
    links = {
        "out": tmp_path,
        "leak": tmp_path / "secret",
        "absolute": root / "plain",
        "chain": "hop",
        "hop": "plain/../..",
        "up": "plain/../../secret",
        "self": "/proc/self",
        "round": "about",
        "about": "round",
        "inside": "plain",
        "plain/back": "../plain/deep/../file",
        "here": "plain/deep/..",
        "dangling": "nowhere",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


@pytest.fixture(params=["kernel", "steps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "steps":
        monkeypatch.setattr(paths, "_open_in_kernel", lambda *_: None)
    return request.param


def everything(root: Path) -> dict[str, bytes | str | None]:
    """Return all files around and below the root, with contents and link targets."""
    found = [*root.parent.rglob("*")]
    return {
        str(p): os.readlink(p) if p.is_symlink() else p.read_bytes() if p.is_file() else None for p in found
    }


@pytest.mark.parametrize("relative", NO_PATHS + LEAVING)
def test_reading_never_leaves_the_root(root: Path, way: str, relative: str) -> None:
    """A path, a link or a loop of links that leads out is an escape, reported in one sentence."""
    for read in (lambda: read_beneath(root, relative, LIMIT), lambda: exists_and_not_empty(root, relative)):
        with pytest.raises(PathEscape) as caught:
            read()
        assert caught.value.code is Code.PATH_ESCAPE
        assert "\n" not in caught.value.message
        assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    "relative", [*NO_PATHS, *LEAVING, "inside/file", "inside/new", "plain/back", "dangling", "dangling/x"]
)
def test_nothing_is_written_through_a_link(root: Path, relative: str) -> None:
    """A writer does not follow or replace a link, and a refusal changes nothing."""
    before = everything(root)
    with pytest.raises(PathEscape):
        write_beneath(root, relative, b"new")
    assert everything(root) == before


@pytest.mark.parametrize(
    "relative", ["plain/file", "./plain//file", "inside/file", "plain/back", "here/file", "here/back"]
)
def test_what_is_below_is_read(root: Path, way: str, relative: str) -> None:
    """Plain paths and links that stay below the root are read, with openat2 and with the fallback."""
    assert read_beneath(root, relative, 4) == b"mine"
    assert exists_and_not_empty(root, relative)


@pytest.mark.parametrize(
    "relative", ["gone", "plain/gone", "gone/file", "plain/file/x", "dangling", "plain", "here"]
)
def test_what_is_no_file_is_not_found(root: Path, way: str, relative: str) -> None:
    """A missing file or a directory is a missing input, not an escape."""
    with pytest.raises(OstlerError) as caught:
        read_beneath(root, relative, LIMIT)
    assert caught.value.code is Code.INPUT_NOT_FOUND
    assert str(root / relative) in caught.value.message
    assert not exists_and_not_empty(root, relative)


def test_pipes_sockets_and_devices_are_no_files(root: Path, way: str) -> None:
    """A path that could block a reader, or discard a document, is refused at once."""
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind(str(root / "plug"))
        for name in ("fifo", "plug", "plain"):
            assert not exists_and_not_empty(root, name)
            with pytest.raises(OstlerError) as unread:
                read_beneath(root, name, LIMIT)
            with pytest.raises(OstlerError) as unwritten:
                write_beneath(root, name, b"new")
            assert (unread.value.code, unwritten.value.code) == (
                Code.INPUT_NOT_FOUND,
                Code.WORKSPACE_WRITE_FAILED,
            )
    with pytest.raises(OstlerError, match="not a regular file"):
        read_beneath(Path("/dev"), "null", LIMIT)


@pytest.mark.parametrize("relative", ["root/etc/passwd", "cwd", "exe"])
def test_magic_links_lead_nowhere(way: str, relative: str) -> None:
    """The kernel's links below /proc do not lead out of a root."""
    with pytest.raises(PathEscape):
        read_beneath(Path("/proc/self"), relative, LIMIT)


def test_a_file_has_at_most_its_limit(root: Path, way: str) -> None:
    """A file of exactly the limit is read; one byte more is refused, and not read to its end."""
    (root / "large").write_bytes(b"x" * 11)
    assert read_beneath(root, "large", 11) == b"x" * 11
    with pytest.raises(OstlerError, match="larger than 10 bytes") as caught:
        read_beneath(root, "large", 10)
    assert caught.value.code is Code.INPUT_NOT_FOUND


def test_an_empty_file_is_not_enough(root: Path, way: str) -> None:
    """An empty file counts as missing where its content is needed."""
    (root / "empty").touch()
    assert not exists_and_not_empty(root, "empty")
    assert read_beneath(root, "empty", LIMIT) == b""


def test_written_files_and_their_directories_are_made(root: Path) -> None:
    """Missing directories are created with the umask, and no temporary file is left."""
    mask = os.umask(0o022)
    try:
        write_beneath(root, "outputs/squad/skill/task.md", b"document")
    finally:
        os.umask(mask)
    place = root / "outputs" / "squad" / "skill"
    assert (place / "task.md").read_bytes() == b"document"
    assert [entry.name for entry in place.iterdir()] == ["task.md"]
    assert (place / "task.md").stat().st_mode & 0o777 == 0o644
    assert place.stat().st_mode & 0o777 == 0o755


def test_a_replaced_file_keeps_its_mode(root: Path) -> None:
    """A replaced file keeps its mode; another hard link to the old file keeps the old content."""
    old = root / "plain" / "file"
    old.chmod(0o640)
    os.link(old, root.parent / "second")
    write_beneath(root, "plain/file", b"new")
    assert old.read_bytes() == b"new"
    assert old.stat().st_mode & 0o777 == 0o640
    assert (root.parent / "second").read_bytes() == b"mine"


@pytest.mark.parametrize(("order", "code"), [("enospc", Code.DISK_FULL), ("eio", Code.STORAGE_ERROR)])
def test_a_failing_disk_leaves_the_old_file(root: Path, order: str, code: Code) -> None:
    """A full or broken disk is reported with its code, and the old file is complete."""
    failpoint.arm(f"file.write:{order}")
    try:
        with pytest.raises(OstlerError) as caught:
            write_beneath(root, "plain/file", b"new")
    finally:
        failpoint.arm("")
    assert caught.value.code is code
    assert caught.value.hint
    assert (root / "plain" / "file").read_bytes() == b"mine"
    assert not [*(root / "plain").glob(".*")]


def test_what_blocks_the_path_is_named(root: Path) -> None:
    """A file at the place of a directory, or a missing root, is a failed write with a next step."""
    for place, relative in ((root, "plain/file/x"), (root / "gone", "x")):
        with pytest.raises(OstlerError) as caught:
            write_beneath(place, relative, b"new")
        assert caught.value.code is Code.WORKSPACE_WRITE_FAILED
        assert caught.value.hint


def test_a_forbidden_place_is_reported(root: Path, way: str) -> None:
    """Where writing or reading is not permitted, the message names what to check."""
    (root / "plain" / "file").chmod(0)
    (root / "plain").chmod(0o500)
    with unprivileged():
        with pytest.raises(OstlerError) as unread:
            read_beneath(root, "plain/file", LIMIT)
        with pytest.raises(OstlerError) as unwritten:
            write_beneath(root, "plain/new", b"new")
    (root / "plain").chmod(0o700)
    assert unread.value.code is Code.INPUT_NOT_FOUND
    assert unwritten.value.code is Code.WORKSPACE_WRITE_FAILED


@pytest.mark.parametrize("point", ["file.write", "file.flush", "file.rename", "file.renamed"])
def test_a_killed_writer_leaves_old_or_new(root: Path, point: str) -> None:
    """After a kill at any moment of a write, the file is the old one or the complete new one."""
    code = (
        "import sys; from pathlib import Path; from ostler.files.beneath import write_beneath;"
        "write_beneath(Path(sys.argv[1]), 'plain/file', b'new' * 1000)"
    )
    order = {"OSTLER_FAILPOINT": f"{point}:kill"}
    child = subprocess.run([sys.executable, "-c", code, str(root)], env=os.environ | order, check=False)
    assert child.returncode == -signal.SIGKILL
    found = (root / "plain" / "file").read_bytes()
    assert found == (b"new" * 1000 if point == "file.renamed" else b"mine")


def test_no_descriptor_is_left(root: Path, way: str) -> None:
    """Every path closes its descriptors, with and without an error."""
    before = len(os.listdir("/proc/self/fd"))
    for relative in ("here/back", "hop/secret", "round", "plain", "plain/gone"):
        with suppress(OstlerError):
            read_beneath(root, relative, LIMIT)
    for relative in ("plain/new/file", "inside/x", "plain", "plain/file/x"):
        with suppress(OstlerError):
            write_beneath(root, relative, b"")
    assert len(os.listdir("/proc/self/fd")) == before


@contextmanager
def swapping(place: Path, *states: str) -> Generator[None]:
    """Run a thread that repeatedly exchanges the entry at a path by rename."""
    ended = Event()

    def swap() -> None:
        for number, state in enumerate(cycle(states)):
            if ended.is_set():
                return
            fresh = place.with_name(f"{place.name}-{number}")
            fresh.symlink_to(state)
            fresh.rename(place)
            ended.wait(0.0001)

    thread = Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_swapped_link_never_leads_out(root: Path, way: str) -> None:
    """While a link is switched between an inner and an outer target, only files below the root are read."""
    (root.parent / "file").write_text("secret")
    (root / "swapped").symlink_to("plain")
    with swapping(root / "swapped", "plain", "..", str(root.parent), "inside"):
        for _ in range(200):
            try:
                assert read_beneath(root, "swapped/file", LIMIT) == b"mine"
            except OstlerError as error:
                assert error.code in (Code.PATH_ESCAPE, Code.INPUT_NOT_FOUND)


def test_a_directory_swapped_for_a_link_is_never_written_through(root: Path) -> None:
    """A directory that becomes a link to the outside during writes lets no file out."""
    target, link = root / "target", root / "link"
    target.mkdir()
    outside = root.parent / "outside"
    outside.mkdir()
    ended = Event()

    def swap() -> None:
        for number in count():
            if ended.is_set():
                return
            away = root / f"away-{number}"
            target.rename(away)
            link.symlink_to(outside)
            with suppress(OSError):  # the writer made a directory meanwhile
                link.rename(target)
                target.unlink()
                away.rename(target)
            link.unlink(missing_ok=True)
            ended.wait(0.001)

    thread = Thread(target=swap)
    thread.start()
    try:
        for number in range(30):
            try:
                write_beneath(root, "target/file", str(number).encode())
            except OstlerError as error:
                assert error.code in (Code.PATH_ESCAPE, Code.WORKSPACE_WRITE_FAILED)
    finally:
        ended.set()
        thread.join()
    assert not [*outside.iterdir()]


NAMES = st.sampled_from(["a", "b", "c", "..", ".", "/", "", "d"])


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=4)), max_size=5), st.lists(NAMES, max_size=5))
def test_both_ways_agree(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[str, list[str]]], way: list[str]
) -> None:
    """For any tree of links and any path, openat2 and the fallback give the same result."""
    root = tmp_path_factory.mktemp("tree") / "root"
    (root / "d" / "a").mkdir(parents=True)
    (root / "d" / "b").write_text("mine")
    for name, target in links:
        if name in ("a", "b", "c") and "/".join(target) and not os.path.lexists(root / name):
            (root / name).symlink_to("/".join(target))
    relative = "/".join(way)
    with pytest.MonkeyPatch.context() as patch:
        kernel = outcome(root, relative)
        patch.setattr(paths, "_open_in_kernel", lambda *_: None)
        assert outcome(root, relative) == kernel


def outcome(root: Path, relative: str) -> tuple[bytes | Code, bool | None]:
    try:
        return read_beneath(root, relative, LIMIT), exists_and_not_empty(root, relative)
    except OstlerError as error:
        return error.code, None

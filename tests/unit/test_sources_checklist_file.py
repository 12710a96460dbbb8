"""A checklist on disk is ticked completely or not at all, also while another program changes it."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ostler.clock import SystemClock
from ostler.errors import Code, OstlerError, PathEscape, UsageError
from ostler.files.file_lock import FileLock
from ostler.sources.checklist_file import read_checklist, tick_box
from ostler.sources.origin import BoxOrigin
from ostler.testing.virtual_clock import VirtualClock


def ticked(root: Path, text: str, number: int = 1, file: str = "TODO.md") -> bool:
    return asyncio.run(tick_box(BoxOrigin(file, text, number), root, SystemClock()))


@pytest.fixture
def todo(tmp_path: Path) -> Path:
    path = tmp_path / "TODO.md"
    path.write_bytes(b"\xef\xbb\xbf- [ ] one\r\n  more\r\n  - [ ] two\r\n- [x] three\r\n")
    path.chmod(0o640)
    return path


def test_its_open_boxes_are_tasks(tmp_path: Path, todo: Path) -> None:
    """Each task has a title, a description, its parent and its position."""
    one, two = read_checklist(todo, tmp_path)
    assert (one.task.title, one.task.body, one.location) == ("one", "more", f"{todo}:1")
    assert (two.task.body, two.task.source) == ("Part of: one", "checklist:TODO.md#two")


def test_a_long_text_is_cut_in_the_title_only(tmp_path: Path, todo: Path) -> None:
    """The prompt of the agent has all of it."""
    text = "word " * 60
    todo.write_text(f"- [ ] {text}\n")
    (found,) = read_checklist(todo, tmp_path)
    assert len(found.task.title) <= 200 and found.task.title.endswith("…")
    assert found.task.body == text.strip()


def test_ticked_in_place(tmp_path: Path, todo: Path) -> None:
    """One byte changes; the mode is kept, and no lock file is left."""
    before = todo.read_bytes()
    assert ticked(tmp_path, "two") and not ticked(tmp_path, "two")
    assert todo.read_bytes() == before.replace(b"[ ] two", b"[x] two")
    assert todo.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["TODO.md"]


def test_a_file_elsewhere(tmp_path: Path, todo: Path) -> None:
    """A file outside the project is named by its absolute path."""
    root = tmp_path / "project"
    root.mkdir()
    (one, _) = read_checklist(todo, root)
    assert one.task.source == f"checklist:{todo}#one"
    assert ticked(root, "one", file=str(todo))
    assert b"[x] one" in todo.read_bytes()


@pytest.mark.parametrize("how", ["gone", "moved", "edited"])
def test_what_is_not_there_any_more_is_no_failure(tmp_path: Path, todo: Path, how: str) -> None:
    """The file, its directory, or the box."""
    match how:
        case "gone":
            todo.unlink()
        case "moved":
            assert not ticked(tmp_path, "one", file="away/TODO.md")
            return
        case _:
            todo.write_text("- [ ] other\n")
    assert not ticked(tmp_path, "one")


def test_two_at_once_both_are_ticked(tmp_path: Path, todo: Path) -> None:
    """The lock orders the two writers, so both ticks are kept."""
    todo.write_text("".join(f"- [ ] box {number}\n" for number in range(8)))
    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(lambda number: ticked(tmp_path, f"box {number}"), range(8)))
    assert done == [True] * 8
    assert todo.read_text() == "".join(f"- [x] box {number}\n" for number in range(8))


def test_the_owner_of_the_lock_is_respected(tmp_path: Path, todo: Path) -> None:
    """After five seconds the command fails with one sentence."""
    lock, clock = FileLock(todo), VirtualClock()
    assert lock.try_acquire(clock.now())
    with pytest.raises(OstlerError, match="is held by") as caught:
        asyncio.run(tick_box(BoxOrigin("TODO.md", "one"), tmp_path, clock))
    assert caught.value.code is Code.STATE_BUSY
    assert b"[ ] one" in todo.read_bytes()


def test_nothing_is_written_through_a_link(tmp_path: Path, todo: Path) -> None:
    """A file that was replaced by a link since the import is not followed."""
    (tmp_path / "real").mkdir()
    moved = todo.rename(tmp_path / "real" / "TODO.md")
    todo.symlink_to(moved)
    with pytest.raises(PathEscape):
        ticked(tmp_path, "one")
    assert b"[ ] one" in moved.read_bytes()


def test_a_file_without_boxes_shows_how_to_write_one(tmp_path: Path, todo: Path) -> None:
    """Without a box the import is an error; Latin-1 is refused before it becomes a task."""
    todo.write_text("# Plans\n\n- one\n")
    with pytest.raises(UsageError, match="has no boxes"):
        read_checklist(todo, tmp_path)
    todo.write_bytes(b"- [ ] caf\xe9\n")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_checklist(todo, tmp_path)
    with pytest.raises(OstlerError, match="no such file"):
        read_checklist(tmp_path / "none.md", tmp_path)

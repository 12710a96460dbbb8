"""Readers get the files of other machines, and of a running one only what is new."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from blob_world import KINDS, SwitchedBlobs, make_blobs
from ostler.blobs import copies as module
from ostler.blobs.blobs import Blobs
from ostler.blobs.copies import Copies
from ostler.model.ids import TaskId

TASK = TaskId("t1")
PREFIX = "store/tasks/t1/files"
LOG = "transcripts/implement-001.log.ndjson"


@pytest.fixture(params=KINDS)
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    found = make_blobs(request.param, request, tmp_path)
    found.put("first", b"")
    return found


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRESH_SECONDS", 0)


def test_a_running_transcript_is_fetched_by_its_new_bytes(blobs: Blobs, tmp_path: Path) -> None:
    """Also after its parts were merged, and by the next process."""
    blobs.put(f"{PREFIX}/{LOG}", b"one\n")
    copies, own = Copies(blobs, "store", tmp_path / "copies"), tmp_path / "own"
    folder = copies.find(TASK, own, ("transcripts/*",))
    assert folder == tmp_path / "copies/t1" and (folder / LOG).read_bytes() == b"one\n"
    inode = (folder / LOG).stat().st_ino
    assert (folder / LOG).stat().st_mode & 0o777 == 0o600
    blobs.append(f"{PREFIX}/{LOG}", 4, b"two\n")
    copies.find(TASK, own, ("transcripts/*",))
    assert (folder / LOG).read_bytes() == b"one\ntwo\n" and (folder / LOG).stat().st_ino == inode
    blobs.append(f"{PREFIX}/{LOG}", 8, b"three\n")
    Copies(blobs, "store", tmp_path / "copies").find(TASK, own, ("transcripts/*",))
    assert (folder / LOG).read_bytes() == b"one\ntwo\nthree\n" and (folder / LOG).stat().st_ino == inode
    blobs.merge(f"{PREFIX}/{LOG}", b"one\ntwo\nthree\nfour\n")
    copies.find(TASK, own, ("transcripts/*",))
    assert (folder / LOG).read_bytes() == b"one\ntwo\nthree\nfour\n"


def test_a_replaced_file_is_fetched_again(blobs: Blobs, tmp_path: Path) -> None:
    """Whether the new one is longer or shorter."""
    copies, own = Copies(blobs, "store", tmp_path / "copies"), tmp_path / "own"
    for text in (b"first", b"the second one", b"3"):
        blobs.put(f"{PREFIX}/gates/x-1.log", text)
        folder = copies.find(TASK, own, ("gates/*",))
        assert (folder / "gates/x-1.log").read_bytes() == text


def test_the_own_directory_is_used_while_it_has_everything(blobs: Blobs, tmp_path: Path) -> None:
    """A file of this machine that is not uploaded yet is with the copies, once others have more."""
    own = tmp_path / "own"
    (own / "prompts").mkdir(parents=True)
    (own / "prompts/a-001.md").write_bytes(b"long enough")
    blobs.put(f"{PREFIX}/prompts/a-001.md", b"long")
    copies = Copies(blobs, "store", tmp_path / "copies")
    assert copies.find(TASK, own, ("prompts/*",)) == own
    blobs.put(f"{PREFIX}/prompts/b-002.md", b"elsewhere")
    (own / "prompts/c-003.md").write_bytes(b"only here")
    folder = copies.find(TASK, own, ("prompts/*",))
    assert {path.name for path in (folder / "prompts").iterdir()} == {"a-001.md", "b-002.md", "c-003.md"}
    assert copies.find(TASK, own, ("transcripts/*",)) == own


def test_only_what_matches_is_fetched(blobs: Blobs, tmp_path: Path) -> None:
    """Raw output can be large; a name that no machine uploads is never written."""
    for name in (LOG, "transcripts/implement-001.jsonl", "../../evil.md", "sandbox/key.md"):
        if ".." not in name:
            blobs.put(f"{PREFIX}/{name}", b"x")
    folder = Copies(blobs, "store", tmp_path / "copies").find(
        TASK, tmp_path / "own", ("*.ndjson", "sandbox/*")
    )
    assert [path.name for path in (folder / "transcripts").iterdir()] == ["implement-001.log.ndjson"]
    assert not (folder / "sandbox").exists()


def test_copies_of_a_purged_task_are_deleted(blobs: Blobs, tmp_path: Path) -> None:
    """By the next reader on this machine; those that nobody reads for a week by anyone."""
    blobs.put(f"{PREFIX}/{LOG}", b"x")
    copies, own = Copies(blobs, "store", tmp_path / "copies"), tmp_path / "own"
    assert copies.find(TASK, own, ("*",)).exists()
    blobs.delete_below("store/tasks/t1")
    assert copies.find(TASK, own, ("*",)) == own and not (tmp_path / "copies/t1").exists()
    (tmp_path / "copies/t2").mkdir()
    os.utime(tmp_path / "copies/t2", (1, 1))
    Copies(blobs, "store", tmp_path / "copies")
    assert not (tmp_path / "copies/t2").exists()


def test_an_outage_leaves_what_is_here(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is printed once, and no reader waits again for a while."""
    blobs = SwitchedBlobs()
    blobs.put(f"{PREFIX}/{LOG}", b"one\n")
    copies, own = Copies(blobs, "store", tmp_path / "copies"), tmp_path / "own"
    copies.find(TASK, own, ("*",))
    blobs.is_down = True
    for _ in range(3):
        assert (copies.find(TASK, own, ("*",)) / LOG).read_bytes() == b"one\n"
    assert len(caplog.messages) == 1 and "files of other machines may be missing" in caplog.text


def test_a_list_is_used_for_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many requests of a page cost one request to the store."""
    monkeypatch.setattr(module, "FRESH_SECONDS", 0.3)
    blobs = SwitchedBlobs()
    blobs.put(f"{PREFIX}/{LOG}", b"one\n")
    copies, own = Copies(blobs, "store", tmp_path / "copies"), tmp_path / "own"
    copies.find(TASK, own, ("*",))
    blobs.append(f"{PREFIX}/{LOG}", 4, b"two\n")
    assert (copies.find(TASK, own, ("*",)) / LOG).read_bytes() == b"one\n"
    time.sleep(0.4)
    assert (copies.find(TASK, own, ("*",)) / LOG).read_bytes() == b"one\ntwo\n"


def test_the_log_of_a_repeated_check_replaces_that_of_the_lost_one(blobs: Blobs, tmp_path: Path) -> None:
    """The machine that lost the task has a longer log of the check that was interrupted."""
    own, log = tmp_path / "own", "gates/implement-1.log"
    (own / "gates").mkdir(parents=True)
    (own / log).write_bytes(b"a long log without a result")
    os.utime(own / log, (1, 1))
    blobs.put(f"{PREFIX}/{log}", b"passed")
    copies = Copies(blobs, "store", tmp_path / "copies")
    assert (copies.find(TASK, own, ("gates/*",)) / log).read_bytes() == b"passed"
    os.utime(own / log, (time.time() + 60, time.time() + 60))
    assert copies.find(TASK, own, ("gates/*",)) == own

"""The files of a task are uploaded whole, then by what was appended, and another machine gets the same."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from threading import Barrier

import pytest

from blob_world import KINDS, make_blobs
from ostler.blobs import uploader as uploader_module
from ostler.blobs.blobs import Blobs
from ostler.blobs.names import is_uploaded, scan
from ostler.blobs.uploader import PART_BYTES, PART_SECONDS, TaskUploader

PREFIX = "store/tasks/t1/files"
LOG = "transcripts/implement-001.jsonl"


@pytest.fixture(params=KINDS)
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    found = make_blobs(request.param, request, tmp_path)
    found.put("first", b"")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "t1"
    (made / "transcripts").mkdir(parents=True)
    return made


def upload(uploader: TaskUploader) -> list[str]:
    changed = uploader.find_changed(0.0)
    for name in changed:
        uploader.upload(name)
    return changed


def age(folder: Path) -> None:
    """Make the files older than their blobs, whose time S3 gives in whole seconds."""
    for name, facts in scan(folder):
        os.utime(folder / name, (facts.st_mtime - 2, facts.st_mtime - 2))


def test_a_growing_file_is_uploaded_by_its_new_bytes(blobs: Blobs, folder: Path) -> None:
    """Only what was appended is sent, and the end of the task merges it into one object."""
    uploader = TaskUploader(blobs, PREFIX, folder)
    for text in (b"one\n", b"two\n", b"three\n"):
        with (folder / LOG).open("ab") as file:
            file.write(text)
        assert upload(uploader) == [LOG]
    assert upload(uploader) == []
    (listed,) = blobs.list(PREFIX)
    assert (listed.parts, blobs.read(listed.name)) == (2, b"one\ntwo\nthree\n")
    uploader.finish()
    (listed,) = blobs.list(PREFIX)
    assert (listed.parts, blobs.read(listed.name)) == (0, b"one\ntwo\nthree\n")


def test_a_file_that_is_written_again_is_replaced(blobs: Blobs, folder: Path) -> None:
    """A gate that is repeated deletes its log: nothing of the old one is left, whatever the inode."""
    uploader, log = TaskUploader(blobs, PREFIX, folder), folder / "gates/implement-1.log"
    log.parent.mkdir()
    log.write_bytes(b"old")
    upload(uploader)
    with log.open("ab") as file:
        file.write(b" and longer than the new one")
    upload(uploader)
    log.unlink()
    log.write_bytes(b"a new log")
    upload(uploader)
    assert blobs.read(f"{PREFIX}/gates/implement-1.log") == b"a new log"
    log.unlink()
    log.write_bytes(b"a new log that is the longest of all of them")
    upload(uploader)
    assert blobs.read(f"{PREFIX}/gates/implement-1.log") == log.read_bytes()


def test_many_parts_are_merged(blobs: Blobs, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the list of a long attempt stays short."""
    monkeypatch.setattr("ostler.blobs.uploader._MOST_PARTS", 4)
    uploader = TaskUploader(blobs, PREFIX, folder)
    for number in range(11):
        with (folder / LOG).open("ab") as file:
            file.write(b"%d\n" % number)
        upload(uploader)
        assert blobs.list(PREFIX)[0].parts < 4
    assert blobs.read(f"{PREFIX}/{LOG}") == (folder / LOG).read_bytes()


def test_another_machine_gets_what_it_lacks(blobs: Blobs, folder: Path, tmp_path: Path) -> None:
    """It downloads all but raw output, and uploads nothing again; the first machine gets its changes back."""
    (folder / LOG).write_bytes(b"{}\n")
    (folder / "transcripts/implement-001.answer.md").write_bytes(b"the answer")
    (folder / "retry-context-implement-1.md").write_bytes(b"why")
    age(folder)
    upload(TaskUploader(blobs, PREFIX, folder))
    other = tmp_path / "other/t1"
    there = TaskUploader(blobs, PREFIX, other)
    there.compare(download=True)
    assert {name for name, _ in scan(other)} == {
        "transcripts/implement-001.answer.md",
        "retry-context-implement-1.md",
    }
    assert (other / "transcripts/implement-001.answer.md").read_bytes() == b"the answer"
    assert upload(there) == []
    (other / "retry-context-implement-1.md").write_bytes(b"why again")
    assert upload(there) == ["retry-context-implement-1.md"]
    os.utime(folder / "retry-context-implement-1.md", (1, 1))
    back = TaskUploader(blobs, PREFIX, folder)
    back.compare(download=True)
    assert upload(back) == [] and (folder / "retry-context-implement-1.md").read_bytes() == b"why again"


def test_the_next_process_uploads_only_what_the_last_one_did_not(blobs: Blobs, folder: Path) -> None:
    """A killed process leaves parts, and a file that has grown since: all of it is complete afterwards."""
    (folder / LOG).write_bytes(b"one\n")
    (folder / "transcripts/implement-001.md").write_bytes(b"page")
    killed = TaskUploader(blobs, PREFIX, folder)
    upload(killed)
    with (folder / LOG).open("ab") as file:
        file.write(b"two\n")
    upload(killed)
    age(folder)
    with (folder / LOG).open("ab") as file:
        file.write(b"three\n")
    following = TaskUploader(blobs, PREFIX, folder)
    following.compare(download=False)
    assert upload(following) == [LOG]
    following.finish()
    (listed, _) = blobs.list(PREFIX)
    assert (listed.parts, blobs.read(listed.name)) == (0, b"one\ntwo\nthree\n")


@pytest.mark.parametrize("name", [LOG, "transcripts/implement-001.log.ndjson"])
def test_what_was_written_during_the_last_upload_is_not_lost(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The blob is newer than the file of a killed process, but the file has more."""
    blobs = make_blobs("memory", None, tmp_path)
    (folder / name).write_bytes(b"one\n")
    put = Blobs.put

    def put_slowly(self: Blobs, key: str, data: bytes) -> None:
        with (folder / name).open("ab") as file:
            file.write(b"two\n")
        os.utime(folder / name, (1, 1))  # its time is before that of the blob
        put(self, key, data)

    with monkeypatch.context() as patched:
        patched.setattr(Blobs, "put", put_slowly)
        upload(TaskUploader(blobs, PREFIX, folder))
    following = TaskUploader(blobs, PREFIX, folder)
    following.compare(download=True)
    upload(following)
    assert (folder / name).read_bytes() == blobs.read(f"{PREFIX}/{name}") == b"one\ntwo\n"


def test_the_files_of_another_machine_are_fetched_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A takeover waits for them: one after the other, those of a long task take half a minute."""
    blobs, both = make_blobs("memory", None, tmp_path), Barrier(2, timeout=10)
    names = ("prompts/implement-001.md", "prompts/test-002.md")
    for name in names:
        blobs.put(f"{PREFIX}/{name}", b"text")
    read = Blobs.read_blocks

    def read_slowly(self: Blobs, name: str, offset: int = 0) -> Generator[bytes]:
        both.wait()
        return read(self, name, offset)

    monkeypatch.setattr(Blobs, "read_blocks", read_slowly)
    TaskUploader(blobs, PREFIX, tmp_path / "there").compare(download=True)
    found = [tmp_path / "there" / name for name in names]
    assert [path.read_bytes() for path in found] == [b"text", b"text"]
    assert {path.stat().st_mode & 0o777 for path in found} == {0o600}


def test_a_change_waits_for_more_but_not_long(folder: Path, tmp_path: Path) -> None:
    """At most 256 KB or two seconds are between two uploads of a running transcript."""
    uploader = TaskUploader(make_blobs("memory", None, tmp_path), PREFIX, folder)
    (folder / LOG).write_bytes(b"x")
    assert uploader.find_changed(10.0, due=True) == []
    assert uploader.find_changed(10.0 + PART_SECONDS, due=True) == [LOG]
    uploader.upload(LOG)
    with (folder / LOG).open("ab") as file:
        file.write(b"x" * PART_BYTES)
    assert uploader.find_changed(20.0, due=True) == [LOG]


@pytest.mark.parametrize(
    "path",
    [
        "task.md",
        "state.yaml",
        "unrecorded-answer.json",
        "sandbox/home/.credentials",
        "left/1/.env",
        "pinned/settings.json",
        "replaced.md",
        "before.fingerprint",
        "gates/checkout-x.path",
        "prompts/.123-abc.tmp",
        "transcripts/../../x.md",
        "prompts/deeper/x.md",
    ],
)
def test_other_files_stay_on_their_machine(path: str) -> None:
    """Neither what people edit nor what may have secrets is uploaded."""
    assert not is_uploaded(path)


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    """What it points to may be any file of the machine."""
    (tmp_path / "secret").write_text("canary")
    (folder / LOG).symlink_to(tmp_path / "secret")
    blobs = make_blobs("memory", None, tmp_path)
    uploader = TaskUploader(blobs, PREFIX, folder)
    uploader.upload(LOG)
    assert upload(uploader) == [] and blobs.list() == []


def test_few_files_are_kept_open(folder: Path) -> None:
    """A worker with many tasks must not run out of file descriptors; what grows is complete."""
    blobs = make_blobs("memory", None, folder)
    uploader = TaskUploader(blobs, PREFIX, folder)
    before = len(os.listdir("/proc/self/fd"))
    logs = [folder / f"transcripts/implement-{number:03}.jsonl" for number in range(60)]
    for log in logs:
        log.write_bytes(b"one\n")
        upload(uploader)
    upload(uploader)
    assert len(os.listdir("/proc/self/fd")) - before <= 20
    for log in (logs[0], logs[-1]):
        with log.open("ab") as file:
            file.write(b"two\n")
    upload(uploader)
    uploader.finish()
    assert {blobs.read(f"{PREFIX}/transcripts/{log.name}") for log in (logs[0], logs[-1])} == {b"one\ntwo\n"}
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_is_truncated_while_it_is_uploaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upload ends, and the next one replaces the blob."""
    blobs, log = make_blobs("memory", None, folder), folder / LOG
    uploader, appended = TaskUploader(blobs, PREFIX, folder), list[int]()
    log.write_bytes(b"0123456789")
    upload(uploader)
    log.write_bytes(b"0123456789 and more")
    append = blobs.append

    def truncate_first(name: str, offset: int, data: bytes) -> None:
        appended.append(len(data))
        assert len(appended) < 5
        append(name, offset, data)

    monkeypatch.setattr(blobs, "append", truncate_first)
    is_continued = uploader_module._is_continued

    def truncate(copy: uploader_module._Copy, facts: os.stat_result) -> bool:
        os.truncate(log, 4)
        return is_continued(copy, facts)

    with monkeypatch.context() as patch:
        patch.setattr(uploader_module, "_is_continued", truncate)
        upload(uploader)
    upload(uploader)
    assert blobs.read(f"{PREFIX}/{LOG}") == b"0123"

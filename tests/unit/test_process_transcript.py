"""The raw bytes of one attempt."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ostler.errors import Code, OstlerError
from ostler.process.transcript import TAIL_BYTES, UNWRITTEN_BYTES, Transcript


def test_bytes_are_appended_and_private(tmp_path: Path) -> None:
    """A second attempt's bytes follow the first's, and only the user may read them with any umask."""
    path = tmp_path / "raw"
    before = os.umask(0)
    try:
        for part in (b"one\xff", b"\0two"):
            transcript = Transcript(str(path))
            transcript.write(part)
            transcript.close()
    finally:
        os.umask(before)
    assert path.read_bytes() == b"one\xff\0two"
    assert path.stat().st_mode & 0o777 == 0o600


def test_symbolic_link_is_refused(tmp_path: Path) -> None:
    """A planted link is not followed."""
    (tmp_path / "raw").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OstlerError) as caught:
        Transcript(str(tmp_path / "raw")).open()
    assert caught.value.code is Code.WORKSPACE_WRITE_FAILED
    assert not (tmp_path / "elsewhere").exists()


def test_missing_directory_is_named(tmp_path: Path) -> None:
    """The error has the path."""
    with pytest.raises(OstlerError, match=str(tmp_path / "none" / "raw")):
        Transcript(str(tmp_path / "none" / "raw")).open()


def test_full_disk_has_its_own_code() -> None:
    """ENOSPC is DISK_FULL, if it is more than what is kept in memory."""
    transcript = Transcript("/dev/full")
    with pytest.raises(OstlerError) as caught:
        transcript.write(b"x" * (UNWRITTEN_BYTES + 1) + b"\n")
    transcript.close()
    assert caught.value.code is Code.DISK_FULL


def test_bytes_of_a_full_disk_are_written_when_there_is_space(tmp_path: Path) -> None:
    """The agent is not stopped: its answer is paid for. What cannot be written at the end is reported."""
    transcript = Transcript(str(tmp_path / "raw"))
    transcript.open()
    assert transcript._descriptor is not None
    kept = os.dup(transcript._descriptor)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, transcript._descriptor)
    transcript.write(b"first\n")
    os.dup2(kept, transcript._descriptor)
    transcript.write(b"second\n")
    transcript.close()
    for descriptor in (kept, full):
        os.close(descriptor)
    assert (tmp_path / "raw").read_bytes() == b"first\nsecond\n"


def test_the_end_that_a_full_disk_loses_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """The text of the agent is complete elsewhere; the file is not."""
    transcript = Transcript("/dev/full")
    transcript.write(b"text\n")
    transcript.close()
    assert "no space left: the last 5 bytes of /dev/full are lost" in caplog.text


def test_without_a_path_nothing_is_kept() -> None:
    """An empty path is allowed without a message."""
    transcript = Transcript("")
    transcript.write(b"x")
    transcript.close()


def test_beyond_its_limit_only_the_end_is_kept(tmp_path: Path) -> None:
    """A10: the beginning, a line that counts what is missing, and the last part."""
    path = tmp_path / "raw"
    transcript = Transcript(str(path), limit_bytes=10)
    for _ in range(4):
        transcript.write(b"0123456")
    transcript.write(b"x" * (3 * TAIL_BYTES) + b"the end")
    transcript.close()
    head, mark, tail = path.read_bytes().split(b"\n", 2)
    assert head == b"0123456012"
    assert json.loads(mark) == {"type": "ostler_cut", "bytes": 18 + 3 * TAIL_BYTES + 7 - TAIL_BYTES}
    assert len(tail) == TAIL_BYTES and tail.endswith(b"xthe end")


def test_exactly_at_its_limit_nothing_is_cut(tmp_path: Path) -> None:
    """The mark is only present where bytes are missing."""
    path = tmp_path / "raw"
    transcript = Transcript(str(path), limit_bytes=10)
    transcript.write(b"0123456789")
    transcript.close()
    assert path.read_bytes() == b"0123456789"

"""An attempt log read page by page, from any offset and after any change of the file."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from ostler.views.agent_work.attempt_log import PAGE_BYTES, TAIL, AttemptLogPage, log_path, read_log
from ostler.views.agent_work.transcript import Transcript


def line(number: int, text: str = "") -> bytes:
    entry = {"at": float(number), "type": "text_received", "text": text or f"said {number}"}
    return json.dumps(entry, ensure_ascii=False).encode() + b"\n"


def write(place: Path, data: bytes) -> Path:
    path = place / "implement-001.log.ndjson"
    path.write_bytes(data)
    return path


def times(page: AttemptLogPage) -> list[float]:
    return [entry["at"] for entry in page.entries]


def test_pages_follow_each_other(tmp_path: Path) -> None:
    """The pages contain every entry once, with its position in the file."""
    data = b"".join(line(number) for number in range(10))
    path = write(tmp_path, data)
    offset, seen = 0, list[Any]()
    while (page := read_log(path, offset, 3)).entries:
        assert (page.size, page.start) == (len(data), offset)
        seen += page.entries
        offset = page.next
    assert [entry["at"] for entry in seen] == [*range(10)]
    assert all(json.loads(data[entry["offset"] :].split(b"\n")[0])["at"] == entry["at"] for entry in seen)
    assert offset == len(data)


def test_tail_is_the_last_entries(tmp_path: Path) -> None:
    """A long log is opened at its end."""
    path = write(tmp_path, b"".join(line(number) for number in range(10)))
    page = read_log(path, TAIL, 3)
    assert times(page) == [7, 8, 9]
    assert (page.start, page.next) == (page.entries[0]["offset"], page.size)
    assert times(read_log(path, TAIL, 99)) == [*range(10)]


@pytest.mark.parametrize("offset", range(1, len(line(0, "日本語"))))
def test_offset_within_a_line_is_moved_to_the_next(offset: int, tmp_path: Path) -> None:
    """Also an offset inside a character."""
    path = write(tmp_path, line(0, "日本語") + line(1) + line(2))
    assert times(read_log(path, offset, 5)) == [1, 2]


def test_unfinished_line_is_left_for_later(tmp_path: Path) -> None:
    """It is read once it is complete, from any offset."""
    whole, half = line(0) + line(1), line(2)[:-7]
    path = write(tmp_path, whole + half)
    for offset in (0, TAIL):
        page = read_log(path, offset)
        assert (times(page), page.next) == ([0, 1], len(whole))
    for offset in range(len(whole) + 1, len(whole) + len(half) + 1):
        page = read_log(path, offset)
        assert (page.entries, page.start, page.next) == ((), len(whole), len(whole))
    path.write_bytes(whole + line(2))
    assert times(read_log(path, len(whole))) == [2]


def test_offset_behind_the_end_waits_there(tmp_path: Path) -> None:
    """The page is empty, and its next offset is the end of the file."""
    path = write(tmp_path, line(0))
    page = read_log(path, 10_000)
    assert (page.entries, page.start, page.next) == ((), page.size, page.size)


def test_entry_that_is_longer_than_a_page_comes_alone(tmp_path: Path) -> None:
    """A page has at least one entry; otherwise a reader could not continue."""
    path = write(tmp_path, line(0, "x" * (2 * PAGE_BYTES)) + line(1))
    page = read_log(path, 0)
    assert times(page) == [0]
    assert times(read_log(path, page.next)) == [1]


def test_large_history_is_sought_in(tmp_path: Path) -> None:
    """Of 200 MB only the shown part is read: in the middle, and at the end."""
    path = write(tmp_path, b"")
    middle, size = 100 * 1024 * 1024, 200 * 1024 * 1024
    with path.open("r+b") as file:
        file.truncate(size)
        for at in (middle, size):
            some = b"\n" + b"".join(line(number) for number in range(100))
            file.seek(at - len(some) // 2 if at == middle else at)
            file.write(some)
    began, before = process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert times(read_log(path, middle, 5)) != []
    assert times(read_log(path, TAIL, 3)) == [97, 98, 99]
    assert process_time() - began < 0.5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # kB


@pytest.mark.parametrize(
    "garbage",
    [
        b"half a line behind a cut\n",
        b"[1]\n",
        b"\n",
        b"null\n",
        b'{"at":1}\n',
        b'{"a":' * 9000 + b"\n",
        b"\xff\xfe\n",
    ],
)
def test_what_is_no_entry_is_passed_over(garbage: bytes, tmp_path: Path) -> None:
    """A damaged line is skipped, and the lines around it are read."""
    path = write(tmp_path, line(0) + garbage + line(1))
    assert times(read_log(path)) == [0, 1]


def test_half_characters_of_an_agent_are_replaced(tmp_path: Path) -> None:
    """A tool's input is stored as the agent wrote it; the reader gets valid text."""
    bad = b'{"at":1.0,"type":"tool_used","tool":"T","detail":"","id":"","input":{"a":"\\ud800","b":"\xff"}}\n'
    (entry,) = read_log(write(tmp_path, bad)).entries
    assert entry["input"] == {"a": "?", "b": "\ufffd"}
    json.dumps(entry).encode()


def test_cut_is_reported(tmp_path: Path) -> None:
    """Beyond 256 MB only the end is kept, and the reader gets the number of missing bytes."""
    path = write(tmp_path, line(4) + b'\n{"type":"ostler_cut","bytes":12}\n' + b"rest of a line\n" + line(9))
    page = read_log(path)
    assert times(page) == [4, 4, 9]
    assert page.entries[1]["type"] == "warning_raised" and "12 bytes" in page.entries[1]["message"]


def test_changes_of_files_are_shown_in_one_form(tmp_path: Path) -> None:
    """The form is the same for the tool names of every agent."""
    used = b'{"at":1.0,"type":"tool_used","id":"","tool":"e","detail":"","input":%b}\n'
    inputs = (b'{"filePath":"a","oldString":"b","newString":"c"}', b'{"command":"ls"}')
    path = write(tmp_path, b"".join(used % given for given in inputs))
    first, second = read_log(path).entries
    assert first["edits"] == [{"path": "a", "old": "b", "new": "c"}]
    assert "edits" not in second


def test_attempt_of_an_older_version_is_its_page(tmp_path: Path) -> None:
    """It has no log; its page is one message, once."""
    path = tmp_path / "implement-001.log.ndjson"
    (tmp_path / "implement-001.md").write_text("# implement, attempt 1\n\nDone. é\n")
    os.utime(tmp_path / "implement-001.md", (5.0, 7.0))
    page = read_log(path, 0)
    assert [{**entry} for entry in page.entries] == [
        {"offset": 0, "at": 7.0, "type": "text_received", "text": "# implement, attempt 1\n\nDone. é\n"}
    ]
    assert page.next == page.size == len("# implement, attempt 1\n\nDone. é\n".encode())
    assert read_log(path, page.next).entries == ()
    assert len(read_log(path, TAIL).entries) == 1


def test_attempt_that_left_nothing_is_empty(tmp_path: Path) -> None:
    """It may have just begun."""
    assert read_log(tmp_path / "implement-001.log.ndjson") == AttemptLogPage(0, 0, 0)


def test_history_is_beside_the_page(tmp_path: Path) -> None:
    """It has the attempt's own name."""
    page = Transcript("implement-001", tmp_path / "implement-001.md")
    assert log_path(page) == tmp_path / "implement-001.log.ndjson"


def test_log_of_an_older_version_is_read_under_its_old_name(tmp_path: Path) -> None:
    """Older versions wrote .story.ndjson; a new log takes precedence."""
    page = Transcript("implement-001", tmp_path / "implement-001.md")
    old = tmp_path / "implement-001.story.ndjson"
    old.write_bytes(line(1))
    assert log_path(page) == old
    assert times(read_log(tmp_path / "implement-001.log.ndjson")) == times(read_log(old)) == [1]
    new = write(tmp_path, line(2))
    assert log_path(page) == new
    assert times(read_log(new)) == [2]

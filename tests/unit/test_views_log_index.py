"""Search and the index of steps over all logs of a task: complete, in pages, in bounded memory."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from ostler.views.log_index.blocks import BLOCK_BYTES, LogFile, Place
from ostler.views.log_index.search import SearchHit, search_logs
from ostler.views.log_index.steps import StepsPage, list_steps

START = Place(0)


def write(path: Path, *entries: dict[str, Any], rest: bytes = b"") -> Path:
    lines = [json.dumps({"at": float(at), **one}, ensure_ascii=False) for at, one in enumerate(entries)]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode() + rest)
    return path


def text(words: str) -> dict[str, Any]:
    return {"type": "text_received", "text": words}


def used(tool: str, use: str = "", detail: str = "", **members: Any) -> dict[str, Any]:
    return {"type": "tool_used", "tool": tool, "detail": detail, "id": use, "input": members}


def find_all(files: list[LogFile], words: str, limit: int = 2) -> list[SearchHit]:
    """Return the hits of all pages; each page has no time for a second block."""
    hits, place = list[SearchHit](), START
    for _ in range(1000):
        page = search_logs("t", files, words, place, limit, seconds=0.0)
        hits += page.hits
        if page.done:
            return hits
        assert (page.next.attempt, page.next.offset) > (place.attempt, place.offset)
        place = page.next
    raise AssertionError("the search does not end")


@pytest.mark.parametrize(
    ("entry", "words", "excerpt"),
    [
        (text("All is WELL here"), "well", ("All is ", "WELL", " here")),
        (text('He said "no\\yes"'), 'said "no\\', ("He ", 'said "no\\', 'yes"')),
        (text("Größe ÄNDERN"), "ändern", ("Größe ", "ÄNDERN", "")),
        (text("İİ needle"), "NEEDLE", ("İİ ", "needle", "")),
        (text("x\ny needle"), "needle", ("x y ", "needle", "")),
        (used("Edit", new_string="the needle"), "needle", ("the ", "needle", "")),
        (used("Edit", edits=[{"new": ["a needle"]}]), "needle", ("a ", "needle", "")),
        ({"type": "tool_returned", "id": "u", "text": "1 needle"}, "needle", ("1 ", "needle", "")),
    ],
)
def test_a_text_is_found_in_any_case(
    tmp_path: Path, entry: dict[str, Any], words: str, excerpt: tuple[str, str, str]
) -> None:
    """Letters beyond ASCII, quotes, inputs of tools and results are searched, and the excerpt is verbatim."""
    path = write(tmp_path / "a.ndjson", text("nothing"), entry)
    (hit,) = find_all([LogFile(3, path)], words)
    assert (hit.before, hit.match, hit.after) == excerpt
    assert (hit.attempt, hit.at, hit.type) == (3, 1.0, entry["type"])
    assert json.loads(path.read_bytes()[hit.offset :].split(b"\n")[0])["at"] == 1.0


def test_an_agent_may_escape_letters(tmp_path: Path) -> None:
    """The input of a tool is kept as the agent printed it."""
    path = tmp_path / "a.ndjson"
    path.write_bytes(b'{"at":1,"type":"tool_used","tool":"T","input":{"text":"caf\\u00e9"}}\n')
    assert [hit.match for hit in find_all([LogFile(1, path)], "café")] == ["café"]


@pytest.mark.parametrize("words", ["type", "text_received", "offset", "at"])
def test_names_of_fields_are_not_found(tmp_path: Path, words: str) -> None:
    """Only what the transcript shows."""
    assert find_all([LogFile(1, write(tmp_path / "a.ndjson", text("x")))], words) == []


def test_every_hit_is_in_one_page(tmp_path: Path) -> None:
    """Over three attempts, one of them without a log, and blocks of lines longer than a block."""
    long = text("x" * BLOCK_BYTES + " needle")
    first = write(tmp_path / "a.ndjson", text("needle 1"), long, *[text(f"{n} needle") for n in range(5)])
    last = write(
        tmp_path / "c.ndjson", text("needle"), text("x"), rest=b'{"type":"text_received","text":"needle'
    )
    files = [LogFile(1, first), LogFile(2, tmp_path / "missing"), LogFile(3, last)]
    hits = find_all(files, "needle")
    assert [hit.attempt for hit in hits] == [1] * 7 + [3]
    assert len({(hit.attempt, hit.offset) for hit in hits}) == 8
    assert hits[1].before.startswith("…")


def test_a_page_shows_its_progress(tmp_path: Path) -> None:
    """The bytes before the next page, of all logs; at the end all of them."""
    files = [
        LogFile(1, write(tmp_path / "a", text("needle"))),
        LogFile(2, write(tmp_path / "b", text("needle"))),
    ]
    size = sum(one.path.stat().st_size for one in files)
    page = search_logs("t", files, "needle", START, 1)
    assert (page.scanned, page.total, page.done) == (size // 2, size, False)
    page = search_logs("t", files, "needle", page.next, 10)
    assert (page.scanned, page.total, page.done, len(page.hits)) == (size, size, True, 1)


def test_a_running_attempt_goes_on_where_the_last_page_ended(tmp_path: Path) -> None:
    """An incomplete line is left for the next page."""
    path = write(tmp_path / "a", text("needle"), rest=b'{"at":5,"type":"text_received","text":"nee')
    page = search_logs("t", [LogFile(1, path)], "needle", START, 10)
    assert (len(page.hits), page.done) == (1, True)
    path.write_bytes(path.read_bytes() + b'dle"}\n')
    assert [hit.at for hit in search_logs("t", [LogFile(1, path)], "needle", page.next, 10).hits] == [5]


def test_a_long_log_needs_little_memory(tmp_path: Path) -> None:
    """A hundred megabytes are read in blocks, and a rare text at the end is found."""
    block = (json.dumps(text("word " + "x" * 400)) + "\n").encode() * 2000
    path = tmp_path / "a"
    with path.open("wb") as file:
        for _ in range(100_000_000 // len(block)):
            file.write(block)
        file.write(json.dumps(text("the needle")).encode() + b"\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (hit,) = find_all([LogFile(1, path)], "needle")
    assert hit.offset > 99_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000


STEPS = (
    text("I begin."),
    used("Edit", "u1", "a.py", file_path="a.py", old_string="a", new_string="b"),
    used("Bash", "u2", "ls", command="ls"),
    used("Bash", "u3", "pytest -q", command="cd x && pytest -q"),
    {"type": "tool_returned", "id": "u3", "text": "1 failed", "failed": True},
    used("shell", "u4", "npm test", command=["npm", "test"]),
    used("Read", "u5", "a.py", file_path="a.py"),
    used("AskUserQuestion", "u6", "", question="Which colour?"),
    used("TodoWrite", "u7", "", todos=[{"content": "a"}]),
    text("Is it red or blue?"),
    text("<phase_blocked>no access to <b></phase_blocked>"),
)


def test_steps_are_listed_by_kind(tmp_path: Path) -> None:
    """Edits, commands, tests and questions with their place; reading and todo lists are left out."""
    page = list_steps("t", [LogFile(2, write(tmp_path / "a", *STEPS))], START)
    assert [(one.kind, one.text) for one in page.steps] == [
        ("edit", "a.py"),
        ("command", "ls"),
        ("test", "pytest -q"),
        ("test", "npm test"),
        ("question", "Which colour?"),
        ("question", "Is it red or blue?"),
        ("question", "no access to <b>"),
    ]
    assert [(one.attempt, one.id) for one in page.failed] == [(2, "u3")]
    assert [one.at for one in page.steps] == [1, 2, 3, 5, 7, 9, 10]


def test_a_failure_may_be_on_a_later_page(tmp_path: Path) -> None:
    """The call is on the page before; its id connects them."""
    filler = text("x" * BLOCK_BYTES)
    path = write(tmp_path / "a", STEPS[3], filler, STEPS[4])
    pages = list[StepsPage]()
    place = START
    while not pages or not pages[-1].done:
        pages.append(list_steps("t", [LogFile(1, path)], place, seconds=0.0))
        place = pages[-1].next
    assert len(pages) > 1 and not pages[0].failed
    assert [one.id for page in pages for one in page.failed] == ["u3"]

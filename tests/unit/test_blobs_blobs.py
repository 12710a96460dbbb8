"""Blobs behave alike in a directory, in memory and on a real S3 server."""

from __future__ import annotations

from pathlib import Path

import pytest

from blob_world import KINDS, make_blobs
from ostler.blobs.blobs import Blobs


@pytest.fixture(params=KINDS)
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    found = make_blobs(request.param, request, tmp_path)
    found.put("first", b"")  # an S3 server of tests creates its bucket with the first blob
    found.delete(["first"])
    return found


def test_a_blob_is_put_replaced_and_deleted(blobs: Blobs) -> None:
    """The last content is read; a deleted or unknown blob is None; deleting it again is allowed."""
    blobs.put("a/b", b"one")
    blobs.put("a/b", b"second")
    assert (blobs.read("a/b"), blobs.read("a/b", 3), blobs.read("a/b", 6)) == (b"second", b"ond", b"")
    assert blobs.read("a") is None and blobs.read("a/c") is None
    blobs.delete(["a/b", "a/none"])
    assert blobs.read("a/b") is None and blobs.list() == []


def test_only_the_first_put_once_writes(blobs: Blobs) -> None:
    """A second one returns False and changes nothing."""
    assert blobs.put_once("a/b", b"mine") and not blobs.put_once("a/b", b"yours")
    assert blobs.read("a/b") == b"mine"


def test_appended_bytes_are_read_from_any_offset(blobs: Blobs) -> None:
    """A blob is the same with and without a first object, whatever its pieces are."""
    text = b"0123456789"
    for name, first in (("a/whole", 4), ("a/parts", 0)):
        if first:
            blobs.put(name, text[:first])
        blobs.append(name, first, text[first:6])
        blobs.append(name, 6, text[6:9])
        blobs.append(name, 9, text[9:])
        assert [blobs.read(name, offset) for offset in range(11)] == [text[one:] for one in range(11)]
    assert [(one.name, one.size) for one in blobs.list("a")] == [("a/parts", 10), ("a/whole", 10)]


def test_a_repeated_append_may_have_more_bytes(blobs: Blobs) -> None:
    """The answer to the first request was lost: the second one replaces its piece."""
    blobs.append("a", 0, b"ab")
    blobs.append("a", 0, b"abcd")
    blobs.append("a", 4, b"e")
    assert blobs.read("a") == b"abcde" and blobs.list()[0].size == 5


def test_nothing_is_read_beyond_a_missing_piece(blobs: Blobs) -> None:
    """A piece that could not be written ends the blob, in its size too."""
    blobs.append("a", 0, b"ab")
    blobs.append("a", 4, b"ef")
    assert blobs.read("a") == b"ab" and blobs.list()[0].size == 2


def test_merged_pieces_are_one_object(blobs: Blobs) -> None:
    """The bytes stay the same, and only the base of the blob changes."""
    blobs.put("a/log", b"ab")
    blobs.append("a/log", 2, b"cd")
    before = blobs.list("a")
    blobs.merge("a/log", iter([b"ab", b"cd"]))
    after = blobs.list("a")
    assert blobs.read("a/log") == b"abcd" and [one.parts for one in (*before, *after)] == [1, 0]
    assert before[0].base != after[0].base


def test_an_appended_blob_keeps_its_base(blobs: Blobs) -> None:
    """So a reader fetches only what is new; a replaced one has another base."""
    blobs.put("a/log", b"ab")
    before = blobs.list("a")[0]
    blobs.append("a/log", 2, b"cd")
    appended = blobs.list("a")[0]
    blobs.put("a/log", b"xy")
    assert appended.base == before.base != blobs.list("a")[0].base


def test_a_list_has_whole_path_parts_and_all_pages(blobs: Blobs) -> None:
    """t1 does not list t10, and a listing of more than one page is complete."""
    for name in ("t1/b", "t1/a", "t10/a"):
        blobs.put(name, b"x")
    assert [one.name for one in blobs.list("t1")] == ["t1/a", "t1/b"]
    for offset in range(1100):
        blobs.append("t2/log", offset, b"x")
    assert [(one.size, one.parts) for one in blobs.list("t2")] == [(1100, 1100)]
    assert blobs.delete_below("t2") == 1100
    assert [one.name for one in blobs.list()] == ["t1/a", "t1/b", "t10/a"]


def test_a_large_blob_is_read_in_blocks(blobs: Blobs) -> None:
    """Neither its upload nor its download needs its size in memory at once."""
    block = bytes(range(256)) * 4096 * 5
    blobs.put("a", iter([block, block]))
    blocks = list(blobs.read_blocks("a", 7))
    assert b"".join(blocks) == (block + block)[7:] and len(blocks) == 2


def test_a_foreign_object_among_the_parts_is_not_one(blobs: Blobs) -> None:
    """Who can write to the bucket can put it there; the task is still listed, read and deleted."""
    blobs.append("t/log", 0, b"ab")
    for name in ("t/log.parts/readme", "t/log.parts/1"):
        blobs.put(name, b"x")
    listed = {one.name: (one.size, one.parts) for one in blobs.list("t")}
    assert listed["t/log"] == (2, 1) and blobs.read("t/log") == b"ab"
    assert blobs.delete_below("t") == 3


@pytest.mark.parametrize(
    "place", [("_list_parts", 1), ("_size", 1), ("_read", 1), ("_read", 2), ("_read", 3)]
)
def test_a_blob_is_read_while_its_parts_are_merged(
    blobs: Blobs, place: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker that leaves a task merges them; the next one reads the files at the same time."""
    blobs.put("log", b"one\n")
    blobs.append("log", 4, b"two\n")
    blobs.append("log", 8, b"three\n")
    name, turn = place
    request, asked = getattr(blobs, name), list[object]()

    def merge_before(*args: object) -> object:
        asked.append(args)
        if len(asked) == turn:
            monkeypatch.setattr(blobs, name, request)
            blobs.merge("log", b"one\ntwo\nthree\n")
        return request(*args)

    monkeypatch.setattr(blobs, name, merge_before)
    assert b"".join(blobs.read_blocks("log")) == b"one\ntwo\nthree\n"
    assert len(asked) == turn

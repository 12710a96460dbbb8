"""Lines of a text are found in a later version of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_world import World, git
from line_edits import Edited, list_edits
from ostler.git.compare.hunks import read_hunks
from ostler.views.diff.line_map import Hunk, LineMap, MappedRange

LEAST_RIGHT, LEAST_RANGES = 0.95, 0.9
SURE = ("unchanged", "moved")


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Edited, LineMap]]:
    """All edits as files of one commit, with the hunks of git."""
    world, edits = World(tmp_path_factory.mktemp("lines")), list_edits(seeds=2)
    for one in edits:
        (world.project / one.name).write_text("".join(f"{text}\n" for text in one.old))
    left = commit_all(world)
    for one in edits:
        (world.project / one.name).write_text("".join(f"{line.text}\n" for line in one.new))
    right = commit_all(world)
    changed = read_hunks(world.repository, left, right, {one.name for one in edits})
    return [(one, make_map(one, changed[one.name].hunks if one.name in changed else ())) for one in edits]


def commit_all(world: World) -> str:
    git(world.project, "add", "-A")
    git(world.project, "-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "-m", "all")
    return git(world.project, "rev-parse", "HEAD")


def make_map(edit: Edited, hunks: object) -> LineMap:
    return LineMap(edit.old, [line.text for line in edit.new], [Hunk(*one) for one in hunks or ()])


def is_right(edit: Edited, found: MappedRange) -> bool:
    """Return whether the place is exact and its state is true; for a replaced line its successor is right."""
    match edit.state:
        case "same":
            return found.line == edit.place and found.how in SURE
        case "gone":
            return found.how in ("deleted", "probably_changed")
        case _:
            return found.line == edit.place and found.how in ("changed", "probably_changed")


def test_the_places_of_commented_lines(maps: list[tuple[Edited, LineMap]]) -> None:
    """Of a hard set with known answers, at least this share is right; docs/decisions has the figure."""
    wrong = Counter[str]()
    for edit, lines in maps:
        found = lines.map_range(edit.line, edit.line)
        if not is_right(edit, found):
            wrong[edit.name.split("-")[0]] += 1
    right = len(maps) - wrong.total()
    print(f"{right} of {len(maps)} right; wrong: {dict(wrong)}")
    assert len(maps) >= 120
    assert right >= LEAST_RIGHT * len(maps), wrong


def range_of(edit: Edited) -> tuple[int, int] | None:
    """Return the place of the commented line and the two after it, if they are still together."""
    places = [n for n, one in enumerate(edit.new, 1) if edit.line <= one.number <= edit.line + 2]
    return (places[0], places[-1]) if len(places) == 3 and places[-1] - places[0] <= 4 else None


def test_the_places_of_commented_ranges(maps: list[tuple[Edited, LineMap]]) -> None:
    """Three lines that are still together are found at least as often; unchanged ones are never "changed"."""
    asked = right = 0
    for edit, lines in maps:
        place = range_of(edit)
        if place is None:
            continue
        found = lines.map_range(edit.line, edit.line + 2)
        texts = [one.text for one in edit.new[place[0] - 1 : place[1]]]
        is_same = texts == edit.old[edit.line - 1 : edit.line + 2]
        asked += 1
        right += (found.line, found.end_line) == place and (found.how in SURE) == is_same
    print(f"{right} of {asked} ranges right")
    assert asked >= 120
    assert right >= LEAST_RANGES * asked


TEXTS = st.lists(
    st.sampled_from(["", "a", "  a", "b = 1", "b = 2", "return None", "}", "x" * 20]), max_size=30
)


def make_hunks(old: list[str], new: list[str]) -> Iterator[Hunk]:
    """Return the hunks between two texts as git would number them."""
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Hunk(a + (b > a), b - a, c + (d > c), d - c)


@given(TEXTS, TEXTS, st.integers(-3, 40), st.integers(-3, 40))
def test_no_place_is_outside_the_text(old: list[str], new: list[str], line: int, end_line: int) -> None:
    """For any two texts and any lines, nothing is raised, and what is unchanged has the same text."""
    lines = LineMap(old, new, list(make_hunks(old, new)))
    found = lines.map_range(line, end_line)
    if not found.line:
        assert (found.end_line, found.how) == (0, "deleted")
    else:
        assert 1 <= found.line <= found.end_line <= len(new)
    if found.how in SURE:
        start, end = min(max(line, 1), len(old)), min(max(end_line, line, 1), len(old))
        assert new[found.line - 1 : found.end_line] == old[start - 1 : end]
    assert all(one[:1] in " -+" for one in lines.list_changes(line, end_line))
    assert 1 <= lines.find_hunk_place(1) <= len(new) + 1


@given(TEXTS, st.integers(1, 30), st.integers(1, 30))
def test_nothing_moves_in_the_same_text(text: list[str], line: int, end_line: int) -> None:
    """Each line is where it was, without changes."""
    lines = LineMap(text, text, [])
    if not text:
        return
    start = min(line, len(text))
    end = min(max(end_line, start), len(text))
    assert lines.map_range(start, end) == MappedRange(start, end, "unchanged")
    assert lines.list_changes(start, end) == ()


def test_the_changes_beside_a_comment() -> None:
    """Replaced and added lines with their signs; a long hunk is cut to the lines of the comment."""
    old = ["one", "two", "three", "four", "five", "six"]
    new = ["one", "2", "three", "four", "five", "5b", "six"]
    lines = LineMap(old, new, list(make_hunks(old, new)))
    assert lines.list_changes(2, 2) == ("-two", "+2")
    assert lines.list_changes(3, 5) == ("-two", "+2", " three", " four", " five", "+5b")
    assert lines.map_range(1, 3) == MappedRange(1, 3, "changed")
    old, new = [f"old {n}" for n in range(100)], [f"new {n}" for n in range(100)]
    lines = LineMap(old, new, [Hunk(1, 100, 1, 100)])
    changes = lines.list_changes(50, 50)
    assert "-old 49" in changes and "+new 49" in changes and len(changes) <= 12

"""The form of a review: what is written into it is read again, and mistakes are refused with their line."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostler.cli.review.body import FormError
from ostler.cli.review.changes import ChangeLine, ShownChanges
from ostler.cli.review.filled import Decision, Filled, read_form, read_version
from ostler.cli.review.form import CUT, Entries, FormHead, write_form
from ostler.cli.review.marks import format_place, parse_place
from ostler.model.review import Place, Side
from ostler.project.reviews.bundle import NewComment, normalize

HEAD = FormHead("a" * 40, ("task: Add a greeting",), (("approve", "accept it"), ("send back", "")))
PATHS = ("src/a.py", "7", "old b", "a (b):3.txt", "%41", "./c")
TEXTS = st.text(st.sampled_from("ab !?*=#@-+()\\\n\té漢"), max_size=12)


@st.composite
def changes(draw: st.DrawFn) -> ShownChanges:
    """Files with hunks; lines of code that look like comments, and blank ones."""
    lines: list[ChangeLine] = []
    for path in draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=3)):
        lines.append(ChangeLine(f"diff --git a/{path} b/{path}", path))
        old = new = 1
        for _ in range(draw(st.integers(0, 2))):
            old, new = old + 5, new + draw(st.integers(5, 6))
            lines.append(ChangeLine(f"@@ -{old},9 +{new},9 @@", path))
            for sign in draw(st.text(" +-", min_size=1, max_size=8)):
                text = draw(st.sampled_from(("", "", "! no", "# no", "x = 1  ", "@@ -1 +1 @@", "\tif")))
                lines.append(ChangeLine(sign + text, path, old * (sign != "+"), new * (sign != "-")))
                old, new = old + (sign != "+"), new + (sign != "-")
    return ShownChanges(tuple(lines))


@st.composite
def comments(draw: st.DrawFn, shown: ShownChanges) -> tuple[NewComment, ...]:
    found: dict[NewComment, None] = {}
    for _ in range(draw(st.integers(0, 6))):
        line = draw(st.integers(0, 30))
        side: Side = draw(st.sampled_from(("new", "old") if line else ("new",)))
        place = Place(draw(st.sampled_from(PATHS)), side, line, line + draw(st.integers(0, 3)) * (line > 0))
        if draw(st.integers(0, 6)) == 0:
            place = Place()
        elif shown.lines and draw(st.booleans()):
            place = shown.place_above(draw(st.integers(0, len(shown.lines) - 1)))
        kind: Literal["change", "question", "remark"] = draw(
            st.sampled_from(("change", "question", "remark"))
        )
        can_suggest = place.line > 0 and place.side == "new"
        suggestion = draw(st.none() | TEXTS.map(normalize)) if can_suggest else None
        text = normalize(draw(TEXTS))
        if text or suggestion is not None:
            found[NewComment(kind, place, text, suggestion)] = None
    return tuple(found)


def order(comments: tuple[NewComment, ...]) -> list[str]:
    return sorted(map(repr, comments))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.booleans())
def test_what_is_written_is_read_again(data: st.DataObject, strips: bool) -> None:
    """Also when the editor removes the white space at the ends of lines, or writes the ends of Windows."""
    shown = data.draw(changes())
    written = data.draw(comments(shown))
    notes = {index: ["[review 1] a note\n! of two lines"] for index in range(-1, len(shown.lines), 3)}
    text = normalize(data.draw(TEXTS))
    form = write_form(HEAD, shown, Entries(text, written, notes))
    filled = form.replace("\nDecision:", "\nDecision: send back", 1)
    assert filled != form
    if strips:
        filled = "\r\n".join(line.rstrip() for line in filled.split("\n"))
    read = read_form(filled, shown)
    assert (read.decision, read.text) == (Decision("changes"), text)
    assert order(read.comments) == order(written)
    assert read_version(filled) == ("a" * 40, 0)


@given(st.sampled_from(PATHS) | st.text(min_size=1, max_size=9).map(lambda one: one.lstrip("/")).filter(bool))
def test_a_place_is_read_again(path: str) -> None:
    """Whatever the file is called."""
    sides: tuple[Side, ...] = ("new", "old")
    for side in sides:
        for first, last in ((0, 0), (3, 3), (3, 12)):
            if not path.startswith("./"):
                place = Place(path, side, first, last)
                assert parse_place(format_place(place), "new") == place


SHOWN = ShownChanges(
    (
        ChangeLine("diff --git a/a.py b/a.py", "a.py"),
        ChangeLine("--- a/a.py", "a.py"),
        ChangeLine("+++ b/a.py", "a.py"),
        ChangeLine("@@ -1,3 +1,4 @@", "a.py"),
        ChangeLine(" one", "a.py", 1, 1),
        ChangeLine("-two", "a.py", 2, 0),
        ChangeLine("+zwei", "a.py", 0, 2),
        ChangeLine("+drei", "a.py", 0, 3),
        ChangeLine(" ", "a.py", 3, 4),
        ChangeLine("@@ -9 +10 @@", "a.py"),
        ChangeLine(" nine", "a.py", 9, 10),
        ChangeLine("\\ No newline at end of file", "a.py"),
    )
)
BODY = "\n".join(line.text for line in SHOWN.lines)


def read(body: str, decision: str = "Decision: send back\nMessage:\n") -> Filled:
    return read_form(f"{decision}\n{CUT}\n{body}\n", SHOWN)


def test_comments_of_a_person() -> None:
    """Marks on one, several and removed lines, on a file, on lines that are not shown, and suggestions."""
    body = BODY.replace("+++ b/a.py", "+++ b/a.py\n? Why this file?").replace("-two", "-two\n! Keep it.")
    body = body.replace("+drei", "+drei\n!(2) Translate.\n!\n! All of it.\n= two\n=   three\n\n* Fine.")
    body = "! Add a test.\n!(lib/b.py:7-9) And here.\n" + body.replace(" nine", " nine\n=")
    assert read(body).comments == (
        NewComment("change", Place(), "Add a test."),
        NewComment("change", Place("lib/b.py", "new", 7, 9), "And here."),
        NewComment("question", Place("a.py"), "Why this file?"),
        NewComment("change", Place("a.py", "old", 2, 2), "Keep it."),
        NewComment("change", Place("a.py", "new", 2, 3), "Translate.\n\nAll of it.", "two\n  three"),
        NewComment("remark", Place("a.py", "new", 3, 3), "Fine."),
        NewComment("change", Place("a.py", "new", 10, 10), "", ""),
    )


def test_blank_lines_around_comments() -> None:
    """They may be added; those of the changes keep their place."""
    for blank in (" ", ""):
        body = BODY.replace("\n ", f"\n{blank}", 0).replace(
            "+drei\n \n", f"+drei\n\n! First.\n\n{blank}\n! Second.\n"
        )
        assert [one.place.line for one in read(body).comments] == [3, 4]


def test_parts_of_the_changes_may_be_deleted() -> None:
    """The rest of a hunk, whole hunks, and everything."""
    head = "\n".join(BODY.split("\n")[:6])
    assert read(f"{head}\n! Keep.").comments[0].place == Place("a.py", "old", 2, 2)
    assert read(f"{head}\n@@ -9 +10 @@\n nine\n! Late.").comments[0].place == Place("a.py", "new", 10, 10)
    assert read("").comments == ()
    assert read_form("Decision: approve and merge", SHOWN) == Filled(Decision("approve", "merge"))


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (BODY.replace("+zwei", "+two"), 11, "'+two' is neither a comment nor a line of the changes"),
        (BODY.replace("-two\n", ""), 10, "expected '-two'"),
        (BODY.replace(" one", "one"), 9, "'one' is neither"),
        (BODY.replace(" nine", " nine\n!(2) Both."), 16, "no 2 lines in a row"),
        (BODY.replace("-two", "-two\n= 2"), 11, "a suggestion replaces lines of the new version"),
        (BODY.replace("-two", "-two\n!(a.py:3"), 11, "the place of the comment has no )"),
        (BODY.replace("-two", "-two\n!() x"), 11, "the place of the comment is empty"),
        ("!(2) Above nothing.", 5, "there are no lines above it"),
        ("= nothing", 5, "a suggestion replaces lines"),
    ],
)
def test_mistakes_between_the_changes(body: str, line: int, message: str) -> None:
    """Each one names its line."""
    with pytest.raises(FormError, match="line") as found:
        read(body)
    assert (found.value.line, message in found.value.message) == (line, True), found.value.message
    assert found.value.hint


@pytest.mark.parametrize(
    ("head", "line", "message"),
    [
        ("Decision: maybe\nMessage:\n", 1, "unknown decision 'maybe'"),
        ("Decision: approve\nsend back\nMessage:\n", 2, "there are two decisions"),
        ("Hello.\nDecision: approve\n", 1, "expected 'Decision:'"),
        ("# nothing\n", 2, "there is no line 'Decision:'"),
        (
            "Decision: approve\nMessage:\ndiff --git a/a.py b/a.py\n",
            3,
            f"the line {CUT!r} above it is missing",
        ),
    ],
)
def test_mistakes_before_the_changes(head: str, line: int, message: str) -> None:
    with pytest.raises(FormError, match="line") as found:
        read(BODY, head)
    assert (found.value.line, message in found.value.message) == (line, True), found.value.message


def test_a_decision_may_stand_below_its_line() -> None:
    for text in ("Decision:\n\nsend back\n\nMessage:\n", "decision: SEND-BACK.\n# a note\nMessage: Hi.\n"):
        assert read(BODY, text).decision == Decision("changes")
    assert read(BODY, "Decision:\nMessage:\n").decision is None
    assert read(BODY, "Decision: comment\nMessage: # no title\n").text == "# no title"


def test_a_comment_below_a_blank_last_line() -> None:
    """The editor removed its space; the end of the file is no further blank line."""
    lines = (ChangeLine("@@ -1 +1 @@", "a.py"), ChangeLine(" ", "a.py", 1, 1))
    form = f"Decision: send back\n{CUT}\n@@ -1 +1 @@\n\n! Why?\n"
    (comment,) = read_form(form, ShownChanges(lines)).comments
    assert comment.place == Place("a.py", "new", 1, 1)

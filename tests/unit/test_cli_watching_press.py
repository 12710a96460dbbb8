"""The keys of `ostler watch`: what each one does to the screen, and what it asks of the project."""

from __future__ import annotations

import pytest

from ostler.cli.watching.press import Act, Asking, Row, Screen, Sight, matches, press

ROWS = (
    Row("mend-it-aaaa", "needs_review", "needs_you", "Mend it"),
    Row("write-it-bbbb", "in_progress", "running", "Write it"),
    Row("rest-it-cccc", "paused", "needs_you", "Rest it"),
    Row("done-it-dddd", "completed", "done", "Über die Straße"),
)
SIGHT = Sight(ROWS, lines=100, room=10)


def after(*keys: str, screen: Screen | None = None, sight: Sight = SIGHT) -> tuple[Screen, list[Act]]:
    """The screen at the end, and all that was asked for on the way."""
    screen, acts = screen or Screen(task=ROWS[0].id), []
    for key in keys:
        screen, act = press(screen, key, sight)
        acts += [act] if act else []
    return screen, acts


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (("j",), 1),
        (("down", "down"), 2),
        (("j", "k"), 0),
        (("up",), 0),
        (("G",), 3),
        (("end", "home"), 0),
        (("page_down",), 3),
        (("G", "page_up"), 0),
        (("Z",), 0),
    ],
)
def test_the_choice_moves_and_stops_at_both_ends(keys: tuple[str, ...], place: int) -> None:
    """By letters, arrows and pages; a key that means nothing moves nothing."""
    screen, acts = after(*keys)
    assert (screen.task, acts) == (ROWS[place].id, [])


@pytest.mark.parametrize(
    ("keys", "act"),
    [
        (("a", "enter"), Act("approve", "mend-it-aaaa")),
        (("a", *"ok", "backspace", "K", "enter"), Act("approve", "mend-it-aaaa", "oK")),
        (("x", *"too long", "enter"), Act("reject", "mend-it-aaaa", "too long")),
        (("x", *"no", "clear", *"日本", "enter"), Act("reject", "mend-it-aaaa", "日本")),
        (("j", "p"), Act("pause", "write-it-bbbb")),
        (("j", "j", "p", *"go", "enter"), Act("resume", "rest-it-cccc", "go")),
        (("c", "y"), Act("cancel", "mend-it-aaaa")),
        (("r",), Act("retry", "mend-it-aaaa")),
        (("G", "a"), Act("approve", "done-it-dddd")),
        (("d", "a", "enter"), Act("approve", "mend-it-aaaa")),
    ],
)
def test_a_verb_is_asked_for_once_with_its_word(keys: tuple[str, ...], act: Act) -> None:
    """On the list and on a page; where a word cannot fit the task, the project is asked at once to say so."""
    screen, acts = after(*keys)
    assert (screen.asking, acts) == (None, [act])


@pytest.mark.parametrize("keys", [("c", "n"), ("c", "enter"), ("a", "escape"), ("x", "a", "escape", "q")])
def test_a_question_can_be_left_without_a_word(keys: tuple[str, ...]) -> None:
    """Only y is a yes to a cancel."""
    screen, acts = after(*keys)
    assert (screen.asking, acts) == (None, [])


def test_a_rejection_without_a_reason_is_asked_again() -> None:
    """The question stays, with what is missing above it."""
    screen, acts = after("x", " ", "enter")
    assert screen.asking is not None and acts == []
    assert screen.said == "a rejection needs a reason, for whoever does it again"


def test_letters_of_a_word_are_no_keys() -> None:
    """q quits from the list, not from the middle of a sentence."""
    screen, acts = after("x", *"quick /?", "down")
    assert (screen.page, acts) == ("list", [])
    assert screen.asking == Asking("reject", "reject mend-it-aaaa; why: ", "quick /?")


def test_a_filter_holds_as_it_is_typed_and_escape_takes_it_away() -> None:
    """Enter keeps it."""
    assert after("/", *"men")[0].filter == "men"
    kept, _ = after("/", *"men", "enter")
    assert (kept.filter, kept.asking) == ("men", None)
    assert after("escape", screen=kept)[0].filter == ""
    assert after("/", "x", "escape")[0].filter == ""


@pytest.mark.parametrize(
    ("wanted", "found"), [("MEND", [0]), ("it paused", [2]), ("strasse", [3]), ("dddd", [3]), ("zz", [])]
)
def test_a_filter_looks_at_id_title_and_status(wanted: str, found: list[int]) -> None:
    """All of its words, however they are written."""
    assert [place for place, row in enumerate(ROWS) if matches(row, wanted)] == found


@pytest.mark.parametrize(
    ("keys", "page"),
    [
        (("enter",), "log"),
        (("l",), "log"),
        (("d",), "diff"),
        (("d", "l"), "log"),
        (("l", "d"), "diff"),
        (("?",), "help"),
        (("?", "?"), "list"),
        (("l", "q"), "list"),
        (("d", "escape"), "list"),
        (("q",), "gone"),
        (("l", "q", "q"), "gone"),
    ],
)
def test_pages_open_and_close(keys: tuple[str, ...], page: str) -> None:
    """q goes back, and from the list away."""
    assert after(*keys)[0].page == page


def test_a_log_is_followed_until_someone_moves_up_and_again_at_its_end() -> None:
    """A line up stays where it is while more comes."""
    log, _ = after("l")
    assert log.top is None
    up, _ = after("k", screen=log)
    assert up.top == 89
    assert after("k", screen=up, sight=Sight(ROWS, lines=200, room=10))[0].top == 88
    assert after("j", screen=up)[0].top is None
    assert after("g", screen=log)[0].top == 0
    assert after("g", "G", screen=log)[0].top is None


def test_a_diff_stops_at_its_last_page() -> None:
    """And a short one does not move."""
    assert after("d", "G")[0].top == 90
    assert after("d", " ", "b", "b")[0].top == 0
    assert after("d", "j", sight=Sight(ROWS, lines=3, room=10))[0].top == 0


def test_nothing_is_chosen_where_nothing_is() -> None:
    """An empty list takes every key."""
    screen, acts = after(*"jklxapcrd", "enter", "G", screen=Screen(), sight=Sight())
    assert (screen, acts) == (Screen(), [])

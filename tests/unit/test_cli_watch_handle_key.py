"""The keys of `ostler watch`: the next screen and the requested action."""

from __future__ import annotations

import pytest

from ostler.cli.watch.handle_key import (
    ActionRequest,
    Prompt,
    Row,
    Screen,
    ViewState,
    handle_key,
    matches_filter,
)

ROWS = (
    Row("mend-it-aaaa", "needs_review", "needs_you", "Mend it"),
    Row("write-it-bbbb", "in_progress", "running", "Write it"),
    Row("rest-it-cccc", "paused", "needs_you", "Rest it"),
    Row("done-it-dddd", "completed", "done", "Über die Straße"),
)
VIEW = ViewState(ROWS, lines=100, visible_lines=10)


def after(
    *keys: str, screen: Screen | None = None, view: ViewState = VIEW
) -> tuple[Screen, list[ActionRequest]]:
    """Return the screen after the keys, and the requested actions."""
    screen, requests = screen or Screen(task=ROWS[0].id), []
    for key in keys:
        screen, request = handle_key(screen, key, view)
        requests += [request] if request else []
    return screen, requests


@pytest.mark.parametrize(
    ("keys", "index"),
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
def test_the_selection_moves_and_stops_at_both_ends(keys: tuple[str, ...], index: int) -> None:
    """By letters, arrows and pages; an unknown key does nothing."""
    screen, requests = after(*keys)
    assert (screen.task, requests) == (ROWS[index].id, [])


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("a", "enter"), ActionRequest("approve", "mend-it-aaaa")),
        (("a", *"ok", "backspace", "K", "enter"), ActionRequest("approve", "mend-it-aaaa", "oK")),
        (("x", *"too long", "enter"), ActionRequest("reject", "mend-it-aaaa", "too long")),
        (("x", *"no", "clear", *"日本", "enter"), ActionRequest("reject", "mend-it-aaaa", "日本")),
        (("j", "p"), ActionRequest("pause", "write-it-bbbb")),
        (("j", "j", "p", *"go", "enter"), ActionRequest("resume", "rest-it-cccc", "go")),
        (("c", "y"), ActionRequest("cancel", "mend-it-aaaa")),
        (("r",), ActionRequest("retry", "mend-it-aaaa")),
        (("G", "a"), ActionRequest("approve", "done-it-dddd")),
        (("d", "a", "enter"), ActionRequest("approve", "mend-it-aaaa")),
    ],
)
def test_an_action_is_requested_once_with_its_text(keys: tuple[str, ...], expected: ActionRequest) -> None:
    """In the list and on a page; an action that the status does not allow is sent without a prompt."""
    screen, requests = after(*keys)
    assert (screen.prompt, requests) == (None, [expected])


@pytest.mark.parametrize("keys", [("c", "n"), ("c", "enter"), ("a", "escape"), ("x", "a", "escape", "q")])
def test_a_prompt_can_be_cancelled(keys: tuple[str, ...]) -> None:
    """Only y confirms a cancel."""
    screen, requests = after(*keys)
    assert (screen.prompt, requests) == (None, [])


def test_a_rejection_without_a_reason_is_asked_again() -> None:
    """The prompt stays, with a message."""
    screen, requests = after("x", " ", "enter")
    assert screen.prompt is not None and requests == []
    assert screen.message == "a rejection needs a reason"


def test_letters_of_an_input_are_not_keys() -> None:
    """q quits in the list, not inside a text."""
    screen, requests = after("x", *"quick /?", "down")
    assert (screen.page, requests) == ("list", [])
    assert screen.prompt == Prompt("reject", "reject mend-it-aaaa; reason: ", "quick /?")


def test_a_filter_applies_as_it_is_typed_and_escape_clears_it() -> None:
    """Enter keeps it."""
    assert after("/", *"men")[0].filter == "men"
    kept, _ = after("/", *"men", "enter")
    assert (kept.filter, kept.prompt) == ("men", None)
    assert after("escape", screen=kept)[0].filter == ""
    assert after("/", "x", "escape")[0].filter == ""


@pytest.mark.parametrize(
    ("filter_text", "found"), [("MEND", [0]), ("it paused", [2]), ("strasse", [3]), ("dddd", [3]), ("zz", [])]
)
def test_a_filter_looks_at_id_title_and_status(filter_text: str, found: list[int]) -> None:
    """All terms must match, case-insensitively."""
    assert [index for index, row in enumerate(ROWS) if matches_filter(row, filter_text)] == found


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
    """q returns to the list, and quits there."""
    assert after(*keys)[0].page == page


def test_a_log_is_followed_until_a_scroll_up_and_again_at_its_end() -> None:
    """After a scroll up, new lines do not move the page."""
    log, _ = after("l")
    assert log.top is None
    up, _ = after("k", screen=log)
    assert up.top == 89
    assert after("k", screen=up, view=ViewState(ROWS, lines=200, visible_lines=10))[0].top == 88
    assert after("j", screen=up)[0].top is None
    assert after("g", screen=log)[0].top == 0
    assert after("g", "G", screen=log)[0].top is None


def test_a_diff_stops_at_its_last_page() -> None:
    """A short diff does not scroll."""
    assert after("d", "G")[0].top == 90
    assert after("d", " ", "b", "b")[0].top == 0
    assert after("d", "j", view=ViewState(ROWS, lines=3, visible_lines=10))[0].top == 0


def test_an_empty_list_accepts_every_key() -> None:
    """No key fails without tasks."""
    screen, requests = after(*"jklxapcrd", "enter", "G", screen=Screen(), view=ViewState())
    assert (screen, requests) == (Screen(), [])

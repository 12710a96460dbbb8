"""The keys of `ostler watch`: the next screen and the requested action."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ostler.cli.watch.handle_key import (
    ActionRequest,
    Prompt,
    Row,
    Screen,
    ViewState,
    follow_selection,
    handle_key,
    matches_filter,
)
from ostler.cli.watch.keys import PASTED

ROWS = (
    Row("mend-it-aaaa", "needs_review", "review", "Mend it"),
    Row("write-it-bbbb", "in_progress", "running", "Write it"),
    Row("rest-it-cccc", "paused", "paused", "Rest it"),
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
        (("a",), ActionRequest("approve", "mend-it-aaaa")),
        (("m",), ActionRequest("merge", "mend-it-aaaa")),
        (("v",), ActionRequest("review", "mend-it-aaaa")),
        (("u",), ActionRequest("undo", "mend-it-aaaa")),
        (("s", "enter"), ActionRequest("send back", "mend-it-aaaa")),
        (("s", *"ok", "backspace", "K", "enter"), ActionRequest("send back", "mend-it-aaaa", "oK")),
        (("x", *"no", "clear", *"日本", "enter"), ActionRequest("send back", "mend-it-aaaa", "日本")),
        (("j", "s"), ActionRequest("send back", "write-it-bbbb")),
        (("j", "j", "r", *"go", "enter"), ActionRequest("resume", "rest-it-cccc", "go")),
        (("j", "p"), ActionRequest("pause", "write-it-bbbb")),
        (("j", "j", "p", *"go", "enter"), ActionRequest("resume", "rest-it-cccc", "go")),
        (("c", "y"), ActionRequest("cancel", "mend-it-aaaa")),
        (("r",), ActionRequest("retry", "mend-it-aaaa")),
        (("G", "a"), ActionRequest("approve", "done-it-dddd")),
        (("d", "a"), ActionRequest("approve", "mend-it-aaaa")),
    ],
)
def test_an_action_is_requested_once_with_its_text(keys: tuple[str, ...], expected: ActionRequest) -> None:
    """In the list and on a page; an action that the status does not allow is sent without a prompt."""
    screen, requests = after(*keys)
    assert (screen.prompt, requests) == (None, [expected])


@pytest.mark.parametrize("keys", [("c", "n"), ("c", "enter"), ("s", "escape"), ("s", "a", "escape", "q")])
def test_a_prompt_can_be_cancelled(keys: tuple[str, ...]) -> None:
    """Only y confirms a cancel."""
    screen, requests = after(*keys)
    assert (screen.prompt, requests) == (None, [])


def test_letters_of_an_input_are_not_keys() -> None:
    """q quits in the list, not inside a text."""
    screen, requests = after("x", *"quick /?", "down")
    assert (screen.page, requests) == ("list", [])
    assert screen.prompt == Prompt(
        "send back", "send back mend-it-aaaa; message (saved comments are sent too): ", "quick /?"
    )


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
        (("enter",), "review"),
        (("j", "enter"), "log"),
        (("enter", "d"), "diff"),
        (("enter", "l"), "log"),
        (("enter", "q"), "list"),
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
    screen, requests = after(*"jklxapcrdmsv", "enter", "G", screen=Screen(), view=ViewState())
    assert (screen, requests) == (Screen(), [])


def test_a_pasted_text_is_typed_into_a_question_only() -> None:
    """Its lines are no keys: one of them could approve or cancel."""
    pasted = f"{PASTED}Not so.\r\n\tac y\r\x07ü"
    assert after(pasted) == (Screen(task=ROWS[0].id), [])
    assert after("c", pasted)[1] == []
    screen, requests = after("s", "x", pasted)
    assert screen.prompt is not None and requests == []
    _, (request,) = after("enter", screen=screen)
    assert request == ActionRequest("send back", ROWS[0].id, "xNot so.\n\tac y\nü")
    screen, _ = after("/", f"{PASTED}mend\nit\tnow", "enter")
    assert screen.filter == "mend it now"


def test_a_long_pasted_text_is_sent_whole() -> None:
    """Such as the output of a test: a review may have 20,000 bytes."""
    _, (request,) = after("s", PASTED + "x" * 19_999, "enter")
    assert len(request.text) == 19_999


def test_no_other_task_takes_the_place_of_the_selected_one() -> None:
    """D1: when it leaves the list, keys act on nothing until a person selects another one."""
    first = follow_selection(Screen(), ROWS)
    assert (first.task, first.place) == ("mend-it-aaaa", 0)
    second, _ = after("j", screen=first)
    moved = follow_selection(second, (ROWS[2], ROWS[0], ROWS[3], ROWS[1]))
    assert (moved.task, moved.place) == ("write-it-bbbb", 3)
    left = (ROWS[0], ROWS[2], ROWS[3])
    lost = follow_selection(second, left)
    assert (lost.task, lost.message) == ("", "write-it-bbbb is not in the list any more")
    lost = follow_selection(lost, left)
    view = ViewState(left, visible_lines=10)
    for key in (*"dl", "enter"):
        assert after(key, screen=lost, view=view) == (replace(lost, message=""), [])
    for key in "asmvrpcx":
        assert after(key, screen=lost, view=view) == (replace(lost, message="no task is selected"), [])
        page = Screen(page="review", task="gone-eeee", top=0)
        screen, requests = after(key, screen=page)
        assert (screen.message, requests) == ("gone-eeee is not in the list any more", [])
    for key, task in (("j", "rest-it-cccc"), ("k", "rest-it-cccc"), ("G", "done-it-dddd")):
        chosen, _ = after(key, screen=lost, view=view)
        assert (chosen.task, follow_selection(chosen, left).task) == (task, task)
    assert follow_selection(Screen(), ()).task == ""

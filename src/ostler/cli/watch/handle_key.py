"""The keys of `ostler watch`: the next state of the screen, and the action to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.cli.watch.keys import PASTED
from ostler.views.lists.groups import Section

Page = Literal["list", "log", "diff", "review", "help", "gone"]
Action = Literal["approve", "merge", "send back", "pause", "resume", "cancel", "retry", "review", "undo"]

_RESUMABLE = ("paused", "blocked", "deferred")
_DECIDABLE = ("needs_review", "blocked", "completed")
_KEYS: dict[str, Action] = {
    "a": "approve",
    "m": "merge",
    "s": "send back",
    "x": "send back",
    "c": "cancel",
    "v": "review",
}
_QUESTIONS = {
    "send back": "send back {task}; message (saved comments are sent too): ",
    "resume": "resume {task}; answer for the agent (optional): ",
    "cancel": "cancel {task}? y/n ",
    "filter": "filter: ",
}
_SPACES = {ord("\n"): " ", ord("\t"): " "}
_MAX_TEXT = 20_000  # of a pasted text too; a review has at most as many bytes


class Row(Struct, frozen=True):
    """The fields of a task that keys depend on."""

    id: str
    status: str
    section: Section
    title: str


class Prompt(Struct, frozen=True):
    """A question at the bottom of the screen, and the text typed so far."""

    action: Action | Literal["filter"]
    question: str
    text: str = ""


class ActionRequest(Struct, frozen=True):
    """An action to apply to a task."""

    action: Action
    task: str
    text: str = ""


class Screen(Struct, frozen=True):
    page: Page = "list"
    # The selected task; empty: none, after the one that was selected has left the list.
    task: str = ""
    # Where the selected task is, or was, in the list.
    place: int = 0
    filter: str = ""
    prompt: Prompt | None = None
    # The result of the last key, shown at the bottom.
    message: str = ""
    # The first visible line of a page; None follows its end.
    top: int | None = None
    # The selected task has left the list, and no other one was selected since.
    is_lost: bool = False


class ViewState(Struct, frozen=True):
    """What is visible: the tasks in order, the lines of the page and the lines of the window."""

    rows: Sequence[Row] = ()
    lines: int = 0
    visible_lines: int = 20


def handle_key(screen: Screen, key: str, view: ViewState) -> tuple[Screen, ActionRequest | None]:
    """Return the screen after a key, and the action to run."""
    screen = replace(screen, message="")
    if screen.prompt is not None:
        return _handle_prompt_key(screen, screen.prompt, key, view)
    if key == "u":
        return screen, ActionRequest("undo", screen.task)
    if key in (*_KEYS, "p", "r") and screen.page != "help":
        return _start_action(screen, key, view)
    if screen.page == "list":
        return _handle_list_key(screen, key, view), None
    return _handle_page_key(screen, key, view), None


def selected_index(screen: Screen, rows: Sequence[Row]) -> int:
    """Return the index of the selected task, or the place that it had if it is not listed."""
    found = (index for index, row in enumerate(rows) if row.id == screen.task)
    return next(found, max(0, min(screen.place, len(rows) - 1)))


def follow_selection(screen: Screen, rows: Sequence[Row]) -> Screen:
    """Return the screen for changed rows: a task that left the list is replaced by no other one."""
    index = selected_index(screen, rows)
    if rows and rows[index].id == screen.task:
        return replace(screen, place=index)
    if not screen.task and not screen.is_lost and rows:
        return replace(screen, task=rows[0].id, place=0)
    if not screen.task:
        return screen
    return replace(screen, task="", is_lost=True, message=_explain_missing(screen))


def matches_filter(row: Row, filter_text: str) -> bool:
    terms = filter_text.casefold().split()
    text = f"{row.id} {row.title} {row.status}".casefold()
    return all(term in text for term in terms)


def _handle_list_key(screen: Screen, key: str, view: ViewState) -> Screen:
    steps = {
        "j": 1,
        "down": 1,
        "k": -1,
        "up": -1,
        "page_down": view.visible_lines,
        " ": view.visible_lines,
        "page_up": -view.visible_lines,
        "home": -len(view.rows),
        "g": -len(view.rows),
        "end": len(view.rows),
        "G": len(view.rows),
    }
    if key in steps and view.rows:
        # Without a selected task, the one at its place is the next one.
        index = selected_index(screen, view.rows) + (
            0 if screen.is_lost and steps[key] in (1, -1) else steps[key]
        )
        place = max(0, min(index, len(view.rows) - 1))
        return replace(screen, task=view.rows[place].id, place=place, is_lost=False)
    match key:
        case "q":
            return replace(screen, page="gone")
        case "escape":
            return replace(screen, filter="")
        case "?":
            return replace(screen, page="help", top=0)
        case "/":
            return replace(screen, prompt=Prompt("filter", _QUESTIONS["filter"], screen.filter))
        case "enter" if _selected(screen, view.rows):
            return _open_review(screen, view.rows)
        case "l" if _selected(screen, view.rows):
            return replace(screen, page="log", top=None)
        case "d" if _selected(screen, view.rows):
            return replace(screen, page="diff", top=0)
        case _:
            return screen


def _handle_page_key(screen: Screen, key: str, view: ViewState) -> Screen:
    """Scroll a page; at its end a log is followed again."""
    last = max(0, view.lines - view.visible_lines)
    top = last if screen.top is None else min(screen.top, last)
    steps = {
        "j": 1,
        "down": 1,
        "enter": 1,
        "k": -1,
        "up": -1,
        "page_down": view.visible_lines,
        " ": view.visible_lines,
        "page_up": -view.visible_lines,
        "b": -view.visible_lines,
        "home": -view.lines,
        "g": -view.lines,
        "end": view.lines,
        "G": view.lines,
    }
    if key in steps:
        top = max(0, top + steps[key])
        return replace(screen, top=None if screen.page == "log" and top >= last else min(top, last))
    match key:
        case "q" | "escape" | "h" | "backspace":
            return replace(screen, page="list", top=None)
        case "?":
            return replace(screen, page="list" if screen.page == "help" else "help", top=0)
        case "l" if screen.page in ("diff", "review"):
            return replace(screen, page="log", top=None)
        case "d" if screen.page in ("log", "review"):
            return replace(screen, page="diff", top=0)
        case _:
            return screen


def _selected(screen: Screen, rows: Sequence[Row]) -> Row | None:
    return next((row for row in rows if row.id == screen.task), None)


def _open_review(screen: Screen, rows: Sequence[Row]) -> Screen:
    """Open the review of a task that waits for one, and the log of any other."""
    row = _selected(screen, rows)
    if row is not None and row.section == "review":
        return replace(screen, page="review", top=0)
    return replace(screen, page="log", top=None)


def _start_action(screen: Screen, key: str, view: ViewState) -> tuple[Screen, ActionRequest | None]:
    """Start an action on the selected task, with a prompt when it takes a text."""
    row = _selected(screen, view.rows)
    if row is None:
        return replace(screen, message=_explain_missing(screen)), None
    action = _action_for(key, row.status)
    if action not in _QUESTIONS or (action == "send back" and row.status not in _DECIDABLE):
        return screen, ActionRequest(action, row.id)
    return replace(screen, prompt=Prompt(action, _QUESTIONS[action].format(task=row.id))), None


def _explain_missing(screen: Screen) -> str:
    return f"{screen.task} is not in the list any more" if screen.task else "no task is selected"


def _action_for(key: str, status: str) -> Action:
    if key == "p":
        return "resume" if status in _RESUMABLE else "pause"
    if key == "r":
        return "resume" if status in _RESUMABLE else "retry"
    return _KEYS[key]


def _handle_prompt_key(
    screen: Screen, prompt: Prompt, key: str, view: ViewState
) -> tuple[Screen, ActionRequest | None]:
    if prompt.action == "cancel":
        sure = ActionRequest("cancel", screen.task) if key in ("y", "Y") else None
        return replace(screen, prompt=None), sure
    if key == "enter":
        return _submit(screen, prompt)
    if key == "escape":
        return replace(screen, prompt=None, filter="" if prompt.action == "filter" else screen.filter), None
    prompt = replace(prompt, text=_edit_text(prompt.text, key))
    filter_text = prompt.text.translate(_SPACES) if prompt.action == "filter" else screen.filter
    return replace(screen, prompt=prompt, filter=filter_text), None


def _edit_text(text: str, key: str) -> str:
    if key == "backspace":
        return text[:-1]
    if key == "clear":
        return ""
    if key.startswith(PASTED):
        lines = key.removeprefix(PASTED).replace("\r\n", "\n").replace("\r", "\n")
        pasted = "".join(letter for letter in lines if letter.isprintable() or letter in "\n\t")
        return (text + pasted)[:_MAX_TEXT]
    return (text + key)[:_MAX_TEXT] if len(key) == 1 else text


def _submit(screen: Screen, prompt: Prompt) -> tuple[Screen, ActionRequest | None]:
    if prompt.action == "filter":
        return replace(screen, prompt=None), None
    return replace(screen, prompt=None), ActionRequest(prompt.action, screen.task, prompt.text)

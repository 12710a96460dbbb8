"""The keys of `ostler watch`: the next state of the screen, and the action to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.views.groups import Group

Page = Literal["list", "log", "diff", "help", "gone"]
Action = Literal["approve", "reject", "pause", "resume", "cancel", "retry"]

_RESUMABLE = ("paused", "blocked", "deferred")
_DECIDABLE = ("needs_review", "blocked")
_QUESTIONS = {
    "approve": "approve {task}; note (optional): ",
    "reject": "reject {task}; reason: ",
    "resume": "resume {task}; feedback for the agent (optional): ",
    "cancel": "cancel {task}? y/n ",
    "filter": "filter: ",
}
_MAX_TEXT = 4000


class Row(Struct, frozen=True):
    """The fields of a task that keys depend on."""

    id: str
    status: str
    group: Group
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
    # The selected task.
    task: str = ""
    filter: str = ""
    prompt: Prompt | None = None
    # The result of the last key, shown at the bottom.
    message: str = ""
    # The first visible line of a page; None follows its end.
    top: int | None = None


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
    if key in ("a", "x", "p", "c", "r") and screen.page != "help":
        return _start_action(screen, key, view)
    if screen.page == "list":
        return _handle_list_key(screen, key, view), None
    return _handle_page_key(screen, key, view), None


def selected_index(screen: Screen, rows: Sequence[Row]) -> int:
    """Return the index of the selected task; 0 when it is not listed."""
    return next((index for index, row in enumerate(rows) if row.id == screen.task), 0)


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
        index = selected_index(screen, view.rows) + steps[key]
        return replace(screen, task=view.rows[max(0, min(index, len(view.rows) - 1))].id)
    match key:
        case "q":
            return replace(screen, page="gone")
        case "escape":
            return replace(screen, filter="")
        case "?":
            return replace(screen, page="help", top=0)
        case "/":
            return replace(screen, prompt=Prompt("filter", _QUESTIONS["filter"], screen.filter))
        case "enter" | "l" if view.rows:
            return replace(screen, page="log", top=None)
        case "d" if view.rows:
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
        case "l" if screen.page == "diff":
            return replace(screen, page="log", top=None)
        case "d" if screen.page == "log":
            return replace(screen, page="diff", top=0)
        case _:
            return screen


def _start_action(screen: Screen, key: str, view: ViewState) -> tuple[Screen, ActionRequest | None]:
    """Start an action on the selected task, with a prompt when it takes a text."""
    if not view.rows:
        return screen, None
    row = view.rows[selected_index(screen, view.rows)]
    action = _action_for(key, row.status)
    screen = replace(screen, task=row.id)
    if action in ("pause", "retry") or (action in ("approve", "reject") and row.status not in _DECIDABLE):
        return screen, ActionRequest(action, row.id)
    return replace(screen, prompt=Prompt(action, _QUESTIONS[action].format(task=row.id))), None


def _action_for(key: str, status: str) -> Action:
    if key == "p":
        return "resume" if status in _RESUMABLE else "pause"
    actions: dict[str, Action] = {"a": "approve", "x": "reject", "c": "cancel", "r": "retry"}
    return actions[key]


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
    filter_text = prompt.text if prompt.action == "filter" else screen.filter
    return replace(screen, prompt=prompt, filter=filter_text), None


def _edit_text(text: str, key: str) -> str:
    if key == "backspace":
        return text[:-1]
    if key == "clear":
        return ""
    return (text + key)[:_MAX_TEXT] if len(key) == 1 else text


def _submit(screen: Screen, prompt: Prompt) -> tuple[Screen, ActionRequest | None]:
    if prompt.action == "filter":
        return replace(screen, prompt=None, filter=prompt.text), None
    if prompt.action == "reject" and not prompt.text.strip():
        return replace(screen, message="a rejection needs a reason"), None
    return replace(screen, prompt=None), ActionRequest(prompt.action, screen.task, prompt.text)

"""What a key does to the screen of `ostler watch`, and what it asks of the project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.views.groups import Group

Page = Literal["list", "log", "diff", "help", "gone"]
Verb = Literal["approve", "reject", "pause", "resume", "cancel", "retry"]

_RESTING = ("paused", "blocked", "deferred")
_ASKS = ("needs_review", "blocked")
_QUESTIONS = {
    "approve": "approve {task}; a word to go with it, or Enter: ",
    "reject": "reject {task}; why: ",
    "resume": "resume {task}; a word for its agent, or Enter: ",
    "cancel": "cancel {task}? y/n ",
    "filter": "show only: ",
}
_LONGEST_WORD = 4000


class Row(Struct, frozen=True):
    """As much of a task as keys need to know."""

    id: str
    status: str
    group: Group
    title: str


class Asking(Struct, frozen=True):
    """A question at the bottom of the screen, and what has been typed so far."""

    about: Verb | Literal["filter"]
    question: str
    text: str = ""


class Act(Struct, frozen=True):
    """A word for the project."""

    verb: Verb
    task: str
    text: str = ""


class Screen(Struct, frozen=True):
    page: Page = "list"
    task: str = ""  # the one that is chosen
    filter: str = ""
    asking: Asking | None = None
    said: str = ""  # one line at the bottom: what came of the last key
    top: int | None = None  # the first line of a page that is shown; None: its end is followed


class Sight(Struct, frozen=True):
    """What a key is judged by: the tasks in their order, and how long a page and the window are."""

    rows: Sequence[Row] = ()
    lines: int = 0
    room: int = 20


def press(screen: Screen, key: str, sight: Sight) -> tuple[Screen, Act | None]:
    """The screen after a key, and what is to be done."""
    screen = replace(screen, said="")
    if screen.asking is not None:
        return _type(screen, screen.asking, key, sight)
    if key in ("a", "x", "p", "c", "r") and screen.page != "help":
        return _start(screen, key, sight)
    if screen.page == "list":
        return _choose(screen, key, sight), None
    return _read(screen, key, sight), None


def chosen(screen: Screen, rows: Sequence[Row]) -> int:
    """The place of the chosen task; the first one's when it is gone."""
    return next((place for place, row in enumerate(rows) if row.id == screen.task), 0)


def matches(row: Row, wanted: str) -> bool:
    words = wanted.casefold().split()
    text = f"{row.id} {row.title} {row.status}".casefold()
    return all(word in text for word in words)


def _choose(screen: Screen, key: str, sight: Sight) -> Screen:
    steps = {
        "j": 1,
        "down": 1,
        "k": -1,
        "up": -1,
        "page_down": sight.room,
        " ": sight.room,
        "page_up": -sight.room,
        "home": -len(sight.rows),
        "g": -len(sight.rows),
        "end": len(sight.rows),
        "G": len(sight.rows),
    }
    if key in steps and sight.rows:
        place = chosen(screen, sight.rows) + steps[key]
        return replace(screen, task=sight.rows[max(0, min(place, len(sight.rows) - 1))].id)
    match key:
        case "q":
            return replace(screen, page="gone")
        case "escape":
            return replace(screen, filter="")
        case "?":
            return replace(screen, page="help", top=0)
        case "/":
            return replace(screen, asking=Asking("filter", _QUESTIONS["filter"], screen.filter))
        case "enter" | "l" if sight.rows:
            return replace(screen, page="log", top=None)
        case "d" if sight.rows:
            return replace(screen, page="diff", top=0)
        case _:
            return screen


def _read(screen: Screen, key: str, sight: Sight) -> Screen:
    """Move in a page; at its end it is followed again."""
    last = max(0, sight.lines - sight.room)
    top = last if screen.top is None else min(screen.top, last)
    steps = {
        "j": 1,
        "down": 1,
        "enter": 1,
        "k": -1,
        "up": -1,
        "page_down": sight.room,
        " ": sight.room,
        "page_up": -sight.room,
        "b": -sight.room,
        "home": -sight.lines,
        "g": -sight.lines,
        "end": sight.lines,
        "G": sight.lines,
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


def _start(screen: Screen, key: str, sight: Sight) -> tuple[Screen, Act | None]:
    """Begin a verb about the chosen task: with a question where a word belongs to it."""
    if not sight.rows:
        return screen, None
    row = sight.rows[chosen(screen, sight.rows)]
    verb = _verb_of(key, row.status)
    screen = replace(screen, task=row.id)
    if verb in ("pause", "retry") or (verb in ("approve", "reject") and row.status not in _ASKS):
        return screen, Act(verb, row.id)
    return replace(screen, asking=Asking(verb, _QUESTIONS[verb].format(task=row.id))), None


def _verb_of(key: str, status: str) -> Verb:
    if key == "p":
        return "resume" if status in _RESTING else "pause"
    verbs: dict[str, Verb] = {"a": "approve", "x": "reject", "c": "cancel", "r": "retry"}
    return verbs[key]


def _type(screen: Screen, asking: Asking, key: str, sight: Sight) -> tuple[Screen, Act | None]:
    if asking.about == "cancel":
        sure = Act("cancel", screen.task) if key in ("y", "Y") else None
        return replace(screen, asking=None), sure
    if key == "enter":
        return _answered(screen, asking)
    if key == "escape":
        return replace(screen, asking=None, filter="" if asking.about == "filter" else screen.filter), None
    asking = replace(asking, text=_edited(asking.text, key))
    wanted = asking.text if asking.about == "filter" else screen.filter
    return replace(screen, asking=asking, filter=wanted), None


def _edited(text: str, key: str) -> str:
    if key == "backspace":
        return text[:-1]
    if key == "clear":
        return ""
    return (text + key)[:_LONGEST_WORD] if len(key) == 1 else text


def _answered(screen: Screen, asking: Asking) -> tuple[Screen, Act | None]:
    if asking.about == "filter":
        return replace(screen, asking=None, filter=asking.text), None
    if asking.about == "reject" and not asking.text.strip():
        return replace(screen, said="a rejection needs a reason, for whoever does it again"), None
    return replace(screen, asking=None), Act(asking.about, screen.task, asking.text)

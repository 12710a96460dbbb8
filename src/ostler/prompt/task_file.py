"""A task from a Markdown file: its front matter, if it has any, and its description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast, get_args, get_origin

import msgspec

from ostler.config.nearest import nearest
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.front_matter import FrontMatter, split_front_matter
from ostler.files.yaml import Document, Path
from ostler.model.ids import is_task_id
from ostler.model.schedule import Schedule
from ostler.model.status import TaskStatus, read_status
from ostler.model.task import Task
from ostler.prompt.task_keys import GROUP, NOT_USED, SCHEDULE, STATUS, TYPES, field_of, known_keys, plain_key

_EMPTY = Document({}, "", {(): 1})


class TaskFile(msgspec.Struct, frozen=True):
    """What a file says of a task."""

    task: Task
    status: TaskStatus | None = None  # where it says one
    notes: tuple[str, ...] = ()  # what was read otherwise than it was written, or not at all
    schedule: Schedule | None = None  # where it is to be done again and again


def read_task(text: str, where: str) -> Task:
    """The task that write_task, a person or another program wrote; raises with every mistake and its line."""
    return read_task_file(text, where).task


def read_task_file(text: str, where: str, title: str = "") -> TaskFile:
    """The same with its status; `title` is for a file that has none in its front matter."""
    matter = split_front_matter(text.removeprefix("\ufeff"), where)
    reading = _Reading(matter.document or _EMPTY)
    facts = reading.facts()
    if matter.document is None:
        facts["body"] = matter.rest
    elif body := _below(matter, text):
        reading.take_body(facts, body)
    if reading.mistakes:
        raise OstlerError(Code.CONFIG_INVALID, "\n".join(reading.mistakes), "mend the lines, then try again")
    if "title" not in facts:
        facts |= {"title": title} if title else _headed(facts.get("body", ""), where)
    task = msgspec.convert(facts, Task)
    return TaskFile(task, reading.status, (*matter.warnings, *reading.notes), reading.schedule)


class _Reading:
    """The front matter of one file, key by key, and what was found wrong on the way."""

    def __init__(self, document: Document) -> None:
        self.status: TaskStatus | None = None
        self.schedule: Schedule | None = None
        self.mistakes: list[str] = []
        self.notes: list[str] = []
        self._document = document
        self._said: dict[str, str] = {}  # from a field to the key that gave it

    def facts(self) -> dict[str, Any]:
        """The fields of the task, by their own names."""
        facts: dict[str, Any] = {}
        for path, value in self._keys():
            key = plain_key(cast(str, path[-1]))
            if value is None and (key in NOT_USED or key in (STATUS, SCHEDULE)):
                continue
            if key in NOT_USED:
                self.notes.append(self._at(path, f"{path[-1]} is not used"))
            elif key == STATUS:
                self._take_status(path, value)
            elif key == SCHEDULE:
                self.schedule = Schedule(str(value), self._document.place(path))
            elif (found := field_of(key)) is None:
                self._refuse_key(path, known_keys())
            elif value is not None:
                self._take(facts, path, *found, value)
        return facts

    def take_body(self, facts: dict[str, Any], body: str) -> None:
        """The text below the front matter, unless a key gave it already."""
        if "body" in facts and body.strip():
            key = self._said["body"]
            self.mistakes.append(
                self._at((key,), f"{key}: a description stands below, too; keep one of them")
            )
        facts.setdefault("body", body)

    def _keys(self) -> Iterator[tuple[Path, Any]]:
        for key, value in self._document.value.items():
            if plain_key(key) == GROUP and isinstance(value, dict):
                yield from (((key, inner), item) for inner, item in cast(dict[str, Any], value).items())
            else:
                yield (key,), value

    def _take(self, facts: dict[str, Any], path: Path, name: str, read: Any, value: object) -> None:
        key = cast(str, path[-1])
        if name in self._said:
            self.mistakes.append(self._at(path, f"{key} and {self._said[name]} mean the same; keep one"))
            return
        self._said[name] = key
        try:
            facts[name] = read(value)
            msgspec.convert(facts[name], TYPES[name])
        except msgspec.ValidationError as error:
            self.mistakes.append(self._at(path, f"{key}: {_expected(TYPES[name], error)}"))
        except ValueError as error:
            self.mistakes.append(self._at(path, f"{key} {error}"))
        self._check_inner(path, name, facts.get(name))
        if name == "id" and not is_task_id(str(value)):
            self.mistakes.append(self._at(path, f"{key}: {str(value)!r:.80} cannot be the id of a task"))

    def _take_status(self, path: Path, value: object) -> None:
        try:
            self.status = read_status(str(value).lower())
        except ValueError:
            self.mistakes.append(self._at(path, f"status: must be one of {', '.join(TaskStatus)}"))

    def _check_inner(self, path: Path, name: str, value: object) -> None:
        """Keys of a mapping in a field, which msgspec would pass over."""
        known = _inner_keys(TYPES[name])
        several = cast(list[object], value if isinstance(value, list) else [value])
        for number, one in enumerate(several):
            inner = cast(dict[str, Any], one).keys() if isinstance(one, dict) else ()
            for key in inner:
                if key not in known:
                    self._refuse_key((*path, number, key) if isinstance(value, list) else (*path, key), known)

    def _refuse_key(self, path: Path, known: list[str]) -> None:
        key = cast(str, path[-1])
        meant = nearest(plain_key(key), known)
        hint = f"; did you mean {meant}?" if meant else ""
        self.mistakes.append(self._at(path, f"unknown key {key!r:.80}{hint}"))

    def _at(self, path: Path, what: str) -> str:
        return self._document.error(path, what).message


def _inner_keys(kind: Any) -> list[str]:
    """The fields of the struct that a type is, may be, or holds many of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [field.name for field in msgspec.structs.fields(kind)]
    return [key for part in get_args(kind) for key in _inner_keys(part)]


def _expected(kind: Any, error: msgspec.ValidationError) -> str:
    if get_origin(kind) is Literal:
        return f"must be one of {', '.join(get_args(kind))}"
    return str(error).replace("`", "").replace("Expected", "expected", 1)


def _below(matter: FrontMatter, text: str) -> str:
    """The description to the letter, without the one blank line above it and the one line end below."""
    end = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    return matter.rest.removeprefix(end).removesuffix(end)


def _headed(text: str, where: str) -> dict[str, str]:
    """Title and body of a text whose first line is the title."""
    first, _, rest = text.lstrip("\ufeff \r\n").partition("\n")
    heading = first.lstrip("#").strip()
    if not heading:
        raise UsageError(
            f"{where} has no first line to take the title from", "write a heading, or give a title"
        )
    return {"title": heading, "body": rest.strip()}

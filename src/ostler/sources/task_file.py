"""Read a task from a Markdown file: optional front matter, and the description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast, get_args, get_origin

import msgspec

from ostler.config.checks.expect import nearest
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.front_matter import FrontMatter, split_front_matter
from ostler.files.yaml import Document, Path
from ostler.model.ids import adopt_task_id, is_task_id
from ostler.model.status import TaskStatus, read_status
from ostler.model.task import PRIORITY_NAMES, Priority, Schedule, Task
from ostler.sources.task_keys import (
    GROUP,
    IGNORED_KEYS,
    SCHEDULE,
    STATUS,
    TYPES,
    find_field,
    list_keys,
    normalize_key,
)

_EMPTY = Document({}, "", {(): 1})


class TaskFile(msgspec.Struct, frozen=True):
    """The task of a file."""

    task: Task
    status: TaskStatus | None = None  # if the file has one
    notes: tuple[str, ...] = ()  # what was ignored or interpreted
    schedule: Schedule | None = None  # if the task is repeated


def read_task(text: str, where: str) -> Task:
    """Return the task of a file; raise an error that lists every mistake with its line."""
    return read_task_file(text, where).task


def read_task_file(text: str, where: str, title: str = "") -> TaskFile:
    """Return the task and its status; `title` is used when the front matter has none."""
    matter = split_front_matter(text.removeprefix("\ufeff"), where)
    parser = _FrontMatterParser(matter.document or _EMPTY)
    fields = parser.parse()
    if matter.document is None:
        fields["body"] = matter.rest
    elif body := _extract_body(matter, text):
        parser.take_body(fields, body)
    if parser.errors:
        raise OstlerError(Code.CONFIG_INVALID, "\n".join(parser.errors), "fix these lines, then try again")
    if "title" not in fields:
        fields |= {"title": title} if title else _split_heading(fields.get("body", ""), where)
    task = msgspec.convert(fields, Task)
    return TaskFile(task, parser.status, (*matter.warnings, *parser.notes), parser.schedule)


class _FrontMatterParser:
    """Reads the front matter of one file key by key and collects mistakes."""

    def __init__(self, document: Document) -> None:
        self.status: TaskStatus | None = None
        self.schedule: Schedule | None = None
        self.errors: list[str] = []
        self.notes: list[str] = []
        self._document = document
        self._key_by_field: dict[str, str] = {}  # maps a field to the key that set it

    def parse(self) -> dict[str, Any]:
        """Return the fields of the task by name."""
        facts: dict[str, Any] = {}
        for path, value in self._iterate_keys():
            key = normalize_key(cast(str, path[-1]))
            if value is None and (key in IGNORED_KEYS or key in (STATUS, SCHEDULE)):
                continue
            if key in IGNORED_KEYS:
                self.notes.append(self._locate(path, f"{path[-1]} is not used"))
            elif key == STATUS:
                self._take_status(path, value)
            elif key == SCHEDULE:
                self.schedule = Schedule(str(value), self._document.location_of(path))
            elif (found := find_field(key)) is None:
                self._refuse_key(path, list_keys())
            elif value is not None:
                self._take(facts, path, *found, value)
        return facts

    def take_body(self, facts: dict[str, Any], body: str) -> None:
        """Return the text below the front matter, unless a key has set the description."""
        if "body" in facts and body.strip():
            key = self._key_by_field["body"]
            self.errors.append(
                self._locate(
                    (key,), f"{key}: the file also has a description below the front matter; keep one of them"
                )
            )
        facts.setdefault("body", body)

    def _iterate_keys(self) -> Iterator[tuple[Path, Any]]:
        for key, value in self._document.value.items():
            if normalize_key(key) == GROUP and isinstance(value, dict):
                yield from (((key, inner), item) for inner, item in cast(dict[str, Any], value).items())
            else:
                yield (key,), value

    def _take(self, facts: dict[str, Any], path: Path, name: str, read: Any, value: object) -> None:
        key = cast(str, path[-1])
        if name in self._key_by_field:
            self.errors.append(
                self._locate(path, f"{key} and {self._key_by_field[name]} mean the same; keep one")
            )
            return
        self._key_by_field[name] = key
        try:
            facts[name] = read(value)
            msgspec.convert(facts[name], TYPES[name])
        except msgspec.ValidationError as error:
            self.errors.append(self._locate(path, f"{key}: {_describe_expected(TYPES[name], error)}"))
        except ValueError as error:
            self.errors.append(self._locate(path, f"{key} {error}"))
        self._check_inner(path, name, facts.get(name))
        if name == "id" and isinstance(value, str) and not is_task_id(value):
            self._adopt_id(facts, path, value)

    def _adopt_id(self, facts: dict[str, Any], path: Path, value: str) -> None:
        """Replace an id of another program, such as TASK-001, and keep it as the external id."""
        try:
            facts["id"] = adopt_task_id(value)
        except UsageError as error:
            self.errors.append(self._locate(path, f"{path[-1]}: {error.message}; {error.hint}"))
        else:
            facts.setdefault("external_id", value)

    def _take_status(self, path: Path, value: object) -> None:
        try:
            self.status = read_status(str(value).lower())
        except ValueError:
            self.errors.append(self._locate(path, f"status: must be one of {', '.join(TaskStatus)}"))

    def _check_inner(self, path: Path, name: str, value: object) -> None:
        """Report unknown keys of a mapping, which msgspec would ignore."""
        if get_origin(TYPES[name]) is dict:
            return  # its keys are names
        known = _inner_keys(TYPES[name])
        several = cast(list[object], value if isinstance(value, list) else [value])
        for number, one in enumerate(several):
            inner = cast(dict[str, Any], one).keys() if isinstance(one, dict) else ()
            for key in inner:
                if key not in known:
                    self._refuse_key((*path, number, key) if isinstance(value, list) else (*path, key), known)

    def _refuse_key(self, path: Path, known: list[str]) -> None:
        key = cast(str, path[-1])
        meant = nearest(normalize_key(key), known)
        hint = f"; did you mean {meant}?" if meant else ""
        self.errors.append(self._locate(path, f"unknown key {key!r:.80}{hint}"))

    def _locate(self, path: Path, what: str) -> str:
        return self._document.error(path, what).message


def _inner_keys(kind: Any) -> list[str]:
    """Return the fields of the struct in a type, such as T, T | None or tuple[T, ...]."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [field.name for field in msgspec.structs.fields(kind)]
    return [key for part in get_args(kind) for key in _inner_keys(part)]


def _describe_expected(kind: Any, error: msgspec.ValidationError) -> str:
    if get_origin(kind) is Literal:
        known = PRIORITY_NAMES if kind is Priority else get_args(kind)
        return f"must be one of {', '.join(known)}"
    return str(error).replace("`", "").replace("Expected", "expected", 1)


def _extract_body(matter: FrontMatter, text: str) -> str:
    """Return the description without one blank line at its start and one line end at its end."""
    end = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    return matter.rest.removeprefix(end).removesuffix(end)


def _split_heading(text: str, where: str) -> dict[str, str]:
    """Return title and body of a text whose first line is the title."""
    first, _, rest = text.lstrip("\ufeff \r\n").partition("\n")
    heading = first.lstrip("#").strip()
    if not heading:
        raise UsageError(f"{where} has no first line to use as the title", "add a heading or a title")
    return {"title": heading, "body": rest.strip()}

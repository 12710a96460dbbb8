"""A pipeline as people write it: .agents/pipelines/NAME.yaml, each mistake told with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from ostler.config.nearest import nearest
from ostler.engine.dependencies import find_cycle
from ostler.engine.pipeline import Pipeline, PipelineStep
from ostler.errors import UsageError
from ostler.files.yaml import Document, read_yaml
from ostler.files.yaml import Path as Place
from ostler.model.ids import TaskId
from ostler.model.schedule import Schedule
from ostler.model.task import PRIORITIES, Input, Output

FOLDER = Path(".agents", "pipelines")
_LARGEST = 1 << 20
_PERSON = ("human", "person", "director")
_TOP = (
    "name",
    "description",
    "goal",
    "concurrency",
    "on_failure",
    "steps",
    "priority",
    "executor",
    "model",
    "tier",
    "schedule",
)
_STEP = (
    "id",
    "skill",
    "goal",
    "requirements",
    "inputs",
    "after",
    "output",
    "format",
    "review",
    "max_revisions",
    "priority",
    "executor",
    "model",
    "tier",
)
_GROUP, _REVIEW = ("parallel",), ("review", "max_revisions")


def find_pipeline(text: str, root: Path) -> Path:
    """The file of that path, or the pipeline of that name."""
    for path in (Path(text), root / FOLDER / f"{text}.yaml", root / FOLDER / f"{text}.yml"):
        if path.is_file():
            return path
    known = sorted(path.stem for path in (root / FOLDER).glob("*.y*ml"))
    near = nearest(text, known)
    hint = (
        f"did you mean {near}?"
        if near
        else f"write {FOLDER / text}.yaml"
        if known == []
        else ", ".join(known)
    )
    raise UsageError(f"no pipeline {text}", hint)


def read_pipeline(path: Path, goal: str = "") -> tuple[Pipeline, Document]:
    """The pipeline, and where its parts stand; `goal` is that of every step that has none."""
    try:
        data = path.read_bytes()[: _LARGEST + 1]
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None
    document = read_yaml(text, str(path))
    return _Reader(document, path.stem, goal).read(), document


class _Reader:
    """Walks one file; each mistake is told with its line."""

    def __init__(self, document: Document, stem: str, goal: str) -> None:
        self._document = document
        self._stem = stem
        self._goal = goal
        self._steps: list[PipelineStep] = []
        self._places: dict[str, Place] = {}
        self._group: list[str] = []  # the ids of the step before, one or several
        self._top: Mapping[str, Any] = {}

    def read(self) -> Pipeline:
        self._top = top = self._table(self._document.value, (), _TOP)
        rows = self._list(top.get("steps"), ("steps",))
        if not rows:
            raise self._document.error(("steps",), "a pipeline needs steps")
        for index, row in enumerate(rows):
            self._add(row, ("steps", index))
        self._check_order()
        return Pipeline(
            name=self._text(top, "name", ()) or self._stem,
            steps=tuple(self._steps),
            at_once=self._number(top, "concurrency", (), 3, 1),
            stops=self._word(top, "on_failure", (), ("stop", "continue"), "stop") == "stop",
            schedule=self._schedule(top),
        )

    def _schedule(self, top: Mapping[str, Any]) -> Schedule | None:
        line = self._text(top, "schedule", ())
        return Schedule(line, self._document.place(("schedule",))) if line else None

    def _add(self, row: object, at: Place) -> None:
        table = self._spelled(row, at)
        if "parallel" in table:
            self._parallel(self._table(table, at, _GROUP), at)
        elif "review" in table and "skill" not in table:
            self._review(self._table(table, at, _REVIEW), at)
        else:
            self._group = [self._step(table, at, tuple(self._group))]

    def _parallel(self, table: Mapping[str, Any], at: Place) -> None:
        before, group = tuple(self._group), list[str]()
        for index, member in enumerate(self._list(table["parallel"], (*at, "parallel"))):
            place = (*at, "parallel", index)
            group.append(self._step(self._spelled(member, place), place, before))
        if not group:
            raise self._document.error(at, "a parallel step needs members")
        self._group = group

    def _step(self, row: object, at: Place, before: tuple[str, ...]) -> str:
        table = self._table(row, at, _STEP)
        skill = self._text(table, "skill", at)
        if not skill:
            raise self._document.error(at, "a step needs a skill, a parallel group or a review")
        name = self._name(self._text(table, "id", at), skill, at)
        goal = self._text(table, "goal", at) or self._goal or self._text(self._top, "goal", ())
        output = self._text(table, "output", at)
        self._steps.append(
            PipelineStep(
                id=name,
                skill=skill,
                goal=goal or f"{skill} for {self._stem}",
                requirements=self._text(table, "requirements", at),
                inputs=tuple(self._inputs(table, at)),
                after=self._names(table, "after", at) if "after" in table else before,
                output=Output(output, self._text(table, "format", at) or "markdown"),
                review=_reviewer(self._text(table, "review", at)),
                max_revisions=self._number(table, "max_revisions", at, None, 0),
                priority=self._usual(table, "priority", at, PRIORITIES) or "P2",
                executor=self._usual(table, "executor", at),
                model=self._usual(table, "model", at),
                tier=self._usual(table, "tier", at),
            )
        )
        self._places[name] = at
        return name

    def _review(self, table: Mapping[str, Any], at: Place) -> None:
        """A review step is the gate of the steps before it."""
        if not self._group:
            raise self._document.error(at, "there is nothing before it that could be reviewed")
        who, most = (
            _reviewer(self._text(table, "review", at)),
            self._number(table, "max_revisions", at, None, 0),
        )
        for index, step in enumerate(self._steps):
            if step.id in self._group:
                if step.review:
                    raise self._document.error(at, f"{step.id} has a review already")
                self._steps[index] = replace(step, review=who, max_revisions=most)

    def _name(self, given: str, skill: str, at: Place) -> str:
        if given and given in self._places:
            raise self._document.error((*at, "id"), f"the id {given} is used twice")
        name, number = given or skill, 1
        while name in self._places:
            number += 1
            name = f"{skill}-{number}"
        return name

    def _check_order(self) -> None:
        known = {step.id for step in self._steps}
        for step in self._steps:
            for name in step.after:
                if name not in known:
                    near = nearest(name, sorted(known))
                    hint = f"; did you mean {near}?" if near else ""
                    raise self._document.error((*self._places[step.id], "after"), f"no step {name}{hint}")
        after = {TaskId(step.id): tuple(map(TaskId, step.after)) for step in self._steps}
        if circle := find_cycle(after, after):
            at = (*self._places[circle[0]], "after")
            raise self._document.error(at, f"steps wait for each other: {' -> '.join(circle)}")

    def _inputs(self, table: Mapping[str, Any], at: Place) -> Sequence[Input]:
        found: list[Input] = []
        for index, one in enumerate(self._list(table.get("inputs"), (*at, "inputs"))):
            place = (*at, "inputs", index)
            row = self._table(
                {"path": one} if isinstance(one, str) else one, place, ("path", "description", "optional")
            )
            path = self._text(row, "path", place)
            if not path:
                raise self._document.error(place, "an input needs a path")
            found.append(Input(path, self._text(row, "description", place), row.get("optional") is True))
        return found

    def _usual(self, table: Mapping[str, Any], key: str, at: Place, allowed: Sequence[str] = ()) -> Any:
        """The step's own word, else the pipeline's."""
        if key in table:
            return self._word(table, key, at, allowed, "") if allowed else self._text(table, key, at)
        return self._word(self._top, key, (), allowed, "") if allowed else self._text(self._top, key, ())

    def _table(self, value: object, at: Place, known: Sequence[str]) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._document.error(at, f"expected keys and values, got {_kind(value)}")
        table = cast("dict[str, Any]", value)
        for key in table:
            if key not in known:
                near = nearest(key, known)
                hint = f"; did you mean {near}?" if near else f"; known are {', '.join(known)}"
                raise self._document.error((*at, key), f"unknown key {key!r:.80}{hint}")
        return table

    def _spelled(self, row: object, at: Place) -> dict[str, Any]:
        """A step in one word is its skill; the seed's spelling with a type is ours without one."""
        if isinstance(row, str):
            return {"skill": row}
        if not isinstance(row, dict):
            raise self._document.error(at, f"expected a step, got {_kind(row)}")
        table = dict(cast("dict[str, Any]", row))
        match table.pop("type", ""):
            case "parallel":
                return {"parallel": table.pop("skills", None), **table}
            case "review":
                return {"review": table.pop("reviewer", None) or table.pop("skill", None) or "human", **table}
            case "" | "sequential":
                return table
            case other:
                raise self._document.error((*at, "type"), f"no kind of step: {other!r:.80}")

    def _list(self, value: object, at: Place) -> list[Any]:
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._document.error(at, f"expected a list, got {_kind(value)}")
        return cast("list[Any]", value)

    def _names(self, table: Mapping[str, Any], key: str, at: Place) -> tuple[str, ...]:
        value = table.get(key)
        rows = [value] if isinstance(value, str) else self._list(value, (*at, key))
        if wrong := [row for row in rows if not isinstance(row, str)]:
            raise self._document.error((*at, key), f"expected names, got {_kind(wrong[0])}")
        return tuple(rows)

    def _text(self, table: Mapping[str, Any], key: str, at: Place) -> str:
        value = table.get(key)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self._document.error((*at, key), f"{key}: expected text, got {_kind(value)}")
        return str(value).strip()

    def _word(self, table: Mapping[str, Any], key: str, at: Place, allowed: Sequence[str], usual: str) -> str:
        word = self._text(table, key, at) or usual
        if word and word not in allowed:
            raise self._document.error(
                (*at, key), f"{key}: expected {' or '.join(allowed)}, got {word!r:.80}"
            )
        return word

    def _number(self, table: Mapping[str, Any], key: str, at: Place, usual: Any, least: int) -> Any:
        value = table.get(key, usual)
        if value is usual:
            return usual
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._document.error(
                (*at, key), f"{key}: expected a number of {least} or more, got {value!r:.80}"
            )
        return value


def _reviewer(word: str) -> str:
    return "human" if word in _PERSON else word


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "keys and values"
        case list():
            return "a list"
        case _:
            return f"{value!r:.80}"

"""Reads pipeline files (.agents/pipelines/NAME.yaml); errors have the file and the line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.checks.expect import nearest
from ostler.engine.dependencies import find_cycle
from ostler.engine.pipeline import Pipeline, PipelineStep
from ostler.errors import OstlerError, PreflightFailed, UsageError, read_problem
from ostler.files.yaml import Document, YamlInvalid, read_yaml
from ostler.files.yaml import Path as Place
from ostler.model.ids import TaskId
from ostler.model.task import PRIORITY_NAMES, Input, Output, Schedule, to_priority
from ostler.text import describe_os_error

FOLDER = Path(".agents", "pipelines")
_MAX_BYTES = 1 << 20
_PERSON_NAMES = ("human", "person", "director")
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
    "timeout_seconds",
    "max_retries",
    "label",
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
    "timeout_seconds",
    "max_retries",
    "label",
)
_STEP_ID = re.compile(r"[^\W_][\w .-]{0,63}")
_GROUP, _REVIEW = ("parallel",), ("review", "max_revisions")


def find_pipeline(text: str, root: Path) -> Path:
    """Return the file with this path, or of the pipeline with this name."""
    for path in (Path(text), root / FOLDER / f"{text}.yaml", root / FOLDER / f"{text}.yml"):
        if path.is_file():
            return path
    known = sorted(path.stem for path in (root / FOLDER).glob("*.y*ml") if path.is_file())
    near = nearest(text, known)
    hint = (
        f"did you mean {near}?"
        if near
        else f"create {FOLDER / text}.yaml"
        if known == []
        else f"use one of {', '.join(known)}"
    )
    raise UsageError(f"no pipeline {text}", hint)


class ParsedPipeline(Struct, frozen=True):
    """A file, and its mistakes; the pipeline has only the steps that could be read."""

    pipeline: Pipeline
    document: Document
    mistakes: tuple[OstlerError, ...]
    places: dict[str, Place]  # of the steps, by their ids
    reviews: dict[str, Place]  # of the review steps, by the ids of the reviewed ones

    def error(self, step: str, key: str, what: str, item: int | None = None) -> YamlInvalid:
        """Return an error at a value of a step; the step may have inherited it from the pipeline."""
        place = self.reviews.get(step, self.places[step]) if key == "review" else self.places[step]
        own: Place = (*place, key) if item is None else (*place, key, item)
        is_inherited = (*place, key) not in self.document.lines and (key,) in self.document.lines
        return self.document.error((key,) if is_inherited else own, what)


def read_pipeline(path: Path) -> ParsedPipeline:
    """Return the pipeline; raise with all mistakes."""
    parsed = parse_pipeline(path)
    refuse_mistakes(parsed.mistakes)
    return parsed


def refuse_mistakes(mistakes: Sequence[OstlerError]) -> None:
    """Raise the only mistake, or one error with a line for each."""
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        problems = [read_problem(one.message) for one in mistakes]
        raise PreflightFailed(sorted(problems, key=lambda one: one.line), "fix them and try again")


def parse_pipeline(path: Path, goal: str = "") -> ParsedPipeline:
    """Parse a file; `goal` is the goal of steps without one. Raises when it is not YAML."""
    try:
        data = path.read_bytes()[: _MAX_BYTES + 1]
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {describe_os_error(error)}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None
    document = read_yaml(text, str(path))
    parser = _Parser(document, path.stem, goal)
    pipeline = parser.parse()
    return ParsedPipeline(pipeline, document, tuple(parser.mistakes), parser.places, parser.reviews)


class _Parser:
    """Parses one file; a mistake is recorded, and a value with a mistake has its default."""

    def __init__(self, document: Document, stem: str, goal: str) -> None:
        self._document = document
        self._stem = stem
        self._goal = goal
        self._steps: list[PipelineStep] = []
        self.places: dict[str, Place] = {}
        self._group: list[str] = []  # the ids of the previous step, one or several
        self._top: Mapping[str, Any] = {}
        self.reviews: dict[str, Place] = {}
        self.mistakes: list[YamlInvalid] = []

    def parse(self) -> Pipeline:
        self._top = top = self._require_table(self._document.value, (), _TOP)
        rows = self._require_list(top.get("steps"), ("steps",))
        if not rows and not self.mistakes:
            self._record(("steps",), "a pipeline needs steps")
        is_complete = True
        for index, row in enumerate(rows):
            try:
                self._parse_entry(row, ("steps", index))
            except YamlInvalid as mistake:
                self._add(mistake)
                is_complete = False
        # A step that could not be read may be the one that others name.
        if is_complete:
            self._check_order()
        return Pipeline(
            name=self._get_text(top, "name", ()) or self._stem,
            steps=tuple(self._steps),
            max_parallel=self._get_number(top, "concurrency", (), 3, 1),
            stop_on_failure=self._get_choice(top, "on_failure", (), ("stop", "continue"), "stop") == "stop",
            schedule=self._parse_schedule(top),
        )

    def _record(self, at: Place, what: str) -> None:
        self._add(self._document.error(at, what))

    def _add(self, mistake: YamlInvalid) -> None:
        # A value of the pipeline is read again for each step.
        if mistake.message not in [one.message for one in self.mistakes]:
            self.mistakes.append(mistake)

    def _parse_schedule(self, top: Mapping[str, Any]) -> Schedule | None:
        line = self._get_text(top, "schedule", ())
        return Schedule(line, self._document.location_of(("schedule",))) if line else None

    def _parse_entry(self, row: object, at: Place) -> None:
        table = self._normalize_step(row, at)
        if "parallel" in table:
            self._parse_parallel(self._require_table(table, at, _GROUP), at)
        elif "review" in table and "skill" not in table:
            self._parse_review(self._require_table(table, at, _REVIEW), at)
        else:
            self._group = [self._parse_step(table, at, tuple(self._group))]

    def _parse_parallel(self, table: Mapping[str, Any], at: Place) -> None:
        before, group = tuple(self._group), list[str]()
        for index, member in enumerate(self._require_list(table["parallel"], (*at, "parallel"))):
            path = (*at, "parallel", index)
            group.append(self._parse_step(self._normalize_step(member, path), path, before))
        if not group:
            raise self._document.error(at, "a parallel group needs steps")
        self._group = group

    def _parse_step(self, row: object, at: Place, before: tuple[str, ...]) -> str:
        before_it = len(self.mistakes)
        table = self._require_table(row, at, _STEP)
        skill = self._get_text(table, "skill", at)
        if not skill:
            # A misspelled key is the cause.
            causes = self.mistakes[before_it:]
            missing = self._document.error(at, "a step needs a skill, a parallel group or a review")
            raise causes[0] if causes else missing
        name = self._choose_name(self._get_text(table, "id", at), skill, at)
        goal = self._get_text(table, "goal", at) or self._goal or self._get_text(self._top, "goal", ())
        output = self._get_text(table, "output", at)
        self._steps.append(
            PipelineStep(
                id=name,
                skill=skill,
                goal=goal or f"{skill} for {self._stem}",
                requirements=self._get_text(table, "requirements", at),
                inputs=tuple(self._parse_inputs(table, at)),
                after=self._parse_names(table, "after", at) if "after" in table else before,
                output=Output(output, self._get_text(table, "format", at) or "markdown"),
                review=_normalize_reviewer(self._get_text(table, "review", at)),
                max_revisions=self._get_number(table, "max_revisions", at, None, 0),
                priority=to_priority(self._get_or_inherit(table, "priority", at, PRIORITY_NAMES) or "P2"),
                executor=self._get_or_inherit(table, "executor", at),
                model=self._get_or_inherit(table, "model", at),
                tier=self._get_or_inherit(table, "tier", at),
                timeout_seconds=self._get_seconds(*self._choose_table(table, "timeout_seconds", at)),
                max_retries=self._get_retries(*self._choose_table(table, "max_retries", at)),
                label=self._get_or_inherit(table, "label", at),
            )
        )
        self.places[name] = at
        return name

    def _parse_review(self, table: Mapping[str, Any], at: Place) -> None:
        """A review step is the gate of the steps before it."""
        if not self._group:
            raise self._document.error(at, "a review needs a step before it")
        who, most = (
            _normalize_reviewer(self._get_text(table, "review", at)),
            self._get_number(table, "max_revisions", at, None, 0),
        )
        for index, step in enumerate(self._steps):
            if step.id in self._group:
                if step.review:
                    self._record(at, f"{step.id} has a review already")
                self._steps[index] = replace(step, review=who, max_revisions=most)
                self.reviews[step.id] = at

    def _choose_name(self, explicit: str, skill: str, at: Place) -> str:
        if explicit and not _STEP_ID.fullmatch(explicit):
            expected = (
                "expected up to 64 letters, digits, spaces, dots and hyphens, with a letter or digit first"
            )
            self._record((*at, "id"), f"invalid id {explicit!r:.80}: {expected}")
        if explicit and explicit in self.places:
            self._record((*at, "id"), f"the id {explicit} is used twice")
        name, number = explicit or skill, 1
        while name in self.places:
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
                    self._record((*self.places[step.id], "after"), f"no step {name}{hint}")
        after = {TaskId(step.id): tuple(map(TaskId, step.after)) for step in self._steps}
        if circle := find_cycle(after, after):
            at = (*self.places[circle[0]], "after")
            self._record(at, f"dependency cycle: {' -> '.join(circle)}")

    def _parse_inputs(self, table: Mapping[str, Any], at: Place) -> Sequence[Input]:
        found: list[Input] = []
        for index, one in enumerate(self._require_list(table.get("inputs"), (*at, "inputs"))):
            path_in_file = (*at, "inputs", index)
            row = self._require_table(
                {"path": one} if isinstance(one, str) else one,
                path_in_file,
                ("path", "description", "optional"),
            )
            path = self._get_text(row, "path", path_in_file)
            if not path:
                self._record(path_in_file, "an input needs a path")
            found.append(
                Input(path, self._get_text(row, "description", path_in_file), row.get("optional") is True)
            )
        return found

    def _get_or_inherit(
        self, table: Mapping[str, Any], key: str, at: Place, allowed: Sequence[str] = ()
    ) -> Any:
        """Return the value of the step, else that of the pipeline."""
        chosen, place = self._choose_table(table, key, at)
        return (
            self._get_choice(chosen, key, place, allowed, "")
            if allowed
            else self._get_text(chosen, key, place)
        )

    def _choose_table(self, table: Mapping[str, Any], key: str, at: Place) -> tuple[Mapping[str, Any], Place]:
        """Return the step if it has the key, else the pipeline."""
        return (table, at) if key in table else (self._top, ())

    def _require_table(self, value: object, at: Place, known: Sequence[str]) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._document.error(at, f"expected a mapping, got {_describe_kind(value)}")
        table = cast("dict[str, Any]", value)
        for key in table:
            if key not in known:
                near = nearest(key, known)
                hint = f"; did you mean {near}?" if near else f"; expected one of {', '.join(known)}"
                self._record((*at, key), f"unknown key {key!r:.80}{hint}")
        return table

    def _normalize_step(self, row: object, at: Place) -> dict[str, Any]:
        """Return a step as a mapping: a text is a skill, and the seed's `type` key is converted."""
        if isinstance(row, str):
            return {"skill": row}
        if not isinstance(row, dict):
            raise self._document.error(at, f"expected a step, got {_describe_kind(row)}")
        table = dict(cast("dict[str, Any]", row))
        match table.pop("type", ""):
            case "parallel":
                return {"parallel": table.pop("skills", None), **table}
            case "review":
                return {"review": table.pop("reviewer", None) or table.pop("skill", None) or "human", **table}
            case "" | "sequential":
                return table
            case other:
                raise self._document.error((*at, "type"), f"unknown type of step {other!r:.80}")

    def _require_list(self, value: object, at: Place) -> list[Any]:
        if value is None:
            return []
        if not isinstance(value, list):
            self._record(at, f"expected a list, got {_describe_kind(value)}")
            return []
        return cast("list[Any]", value)

    def _parse_names(self, table: Mapping[str, Any], key: str, at: Place) -> tuple[str, ...]:
        value = table.get(key)
        rows = [value] if isinstance(value, str) else self._require_list(value, (*at, key))
        if wrong := [row for row in rows if not isinstance(row, str)]:
            self._record((*at, key), f"expected names, got {_describe_kind(wrong[0])}")
        return tuple(row for row in rows if isinstance(row, str))

    def _get_text(self, table: Mapping[str, Any], key: str, at: Place) -> str:
        value = table.get(key)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self._record((*at, key), f"{key}: expected text, got {_describe_kind(value)}")
            return ""
        return str(value).strip()

    def _get_choice(
        self, table: Mapping[str, Any], key: str, at: Place, allowed: Sequence[str], default: str
    ) -> str:
        value = self._get_text(table, key, at) or default
        if value and value not in allowed:
            self._record((*at, key), f"{key}: expected {' or '.join(allowed)}, got {value!r:.80}")
            return default
        return value

    def _get_retries(self, table: Mapping[str, Any], at: Place) -> int | None:
        return self._get_number(table, "max_retries", at, None, 0)

    def _get_seconds(self, table: Mapping[str, Any], at: Place) -> float | None:
        value = table.get("timeout_seconds")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
            what = f"timeout_seconds: expected a number of seconds > 0, got {_describe_kind(value)}"
            self._record((*at, "timeout_seconds"), what)
            return None
        return float(value)

    def _get_number(self, table: Mapping[str, Any], key: str, at: Place, default: Any, minimum: int) -> Any:
        value = table.get(key, default)
        if value is default:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            self._record((*at, key), f"{key}: expected a number of {minimum} or more, got {value!r:.80}")
            return default
        return value


def _normalize_reviewer(name: str) -> str:
    return "human" if name in _PERSON_NAMES else name


def _describe_kind(value: object) -> str:
    kinds: dict[type[object], str] = {type(None): "nothing", dict: "a mapping", list: "a list"}
    return kinds.get(type(value)) or f"{value!r:.80}"

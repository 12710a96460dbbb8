"""Recorded histories of tasks: the records, and what decide and evolve made of each of them."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import list_states
from ostler.engine.core.step import Step
from ostler.model.event import Record
from ostler.model.state import State

HISTORIES = Path(__file__).parents[1] / "data" / "histories"


def read_histories(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the lines of each history of a file by its name."""
    histories: dict[str, list[dict[str, Any]]] = {}
    for text in lzma.decompress(path.read_bytes()).splitlines():
        line = json.loads(text)
        histories.setdefault(line.pop("history"), []).append(line)
    return histories


def write_histories(path: Path, histories: dict[str, list[dict[str, Any]]]) -> None:
    lines = [{"history": name} | line for name, found in sorted(histories.items()) for line in found]
    path.write_bytes(lzma.compress("".join(f"{json.dumps(line)}\n" for line in lines).encode()))


def decode_records(records: Iterable[dict[str, Any]]) -> list[Record]:
    return [msgspec.convert(record, Record) for record in records]


def describe(records: list[Record]) -> Iterator[dict[str, Any]]:
    """Yield what each record changes in the state (None: back to the default), and the next step."""
    before: dict[str, Any] = {}
    for state in list_states(records):
        after = _to_json(state)
        changed = {name: value for name, value in after.items() if before.get(name) != value}
        removed = dict.fromkeys(sorted(before.keys() - after.keys()))
        yield {"changed": changed | removed, "step": _describe_step(state)}
        before = after


def _describe_step(state: State) -> dict[str, Any] | None:
    step: Step | None = decide(state)
    if step is None:
        return None
    return {"type": type(step).__name__} | _to_json(step)


def _to_json(value: State | Step) -> dict[str, Any]:
    return json.loads(msgspec.json.encode(value))

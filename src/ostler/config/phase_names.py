"""Names of phases in the settings: a name that no phase has is a mistake, not a gate that never runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from ostler.config.checks.expect import nearest
from ostler.config.layer import ConfigError, LayerValues
from ostler.config.literal import quote
from ostler.config.settings import Settings
from ostler.config.source import DEFAULT, KeyPath, format_key
from ostler.model.plan import BUILT_IN_PHASES, DOCUMENT_PHASE, MERGE, PHASES, RETRY_MAP

TEMPLATES = Path(".agents", "prompts")
_GATES = ("commands", "phases", "criteria", "options")
_BUILT_IN = frozenset(
    {*BUILT_IN_PHASES, *RETRY_MAP, DOCUMENT_PHASE, *(name for names in PHASES.values() for name in names)}
)


def find_unknown_phases(reading: LayerValues, root: Path | None) -> list[ConfigError]:
    """Return an error for each name in [gates] and [phases] that no phase has.

    Known phases: the built-in ones, and those of [phases.plans], of [phases.options] and of the templates of
    the project. A name in [phases.options] or [phases.prompts] is new unless it resembles a known one.
    """
    found = list(_list_names(reading.values))
    if not found:
        return []
    known = {*_BUILT_IN, *_list_planned(reading.values), *_list_templates(root)}
    named = {**_table(reading.values, "phases", "options"), **_table(reading.values, "phases", "prompts")}
    new = {name for name in named if name not in known and _suggest(name, known) is None}
    return [
        ConfigError(
            reading.sources.get(format_key(path), DEFAULT), format_key(path), _explain(path, name, known)
        )
        for path, name in found
        if name not in known | new and not (name == MERGE and path[0] == "gates")
    ]


def explain_new_phase(name: str, settings: Settings, root: Path) -> str:
    """Return the warning for a phase of a task that resembles a known one; empty: there is none."""
    planned = (one for names in settings.phases.plans.values() for one in names)
    named = (*settings.phases.options, *settings.phases.prompts)
    known = {*_BUILT_IN, *planned, *named, *_list_templates(root)}
    near = None if name in known else _suggest(name, known)
    return f'no phase has the name {quote(name)}; did you mean "{near}"?' if near else ""


def _list_names(values: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield each name of a phase with the key that contains it."""
    for section in _GATES:
        yield from ((("gates", section, name), name) for name in _table(values, "gates", section))
    for name, check in _table(values, "gates", "checks").items():
        phase = cast("dict[str, Any]", check).get("phase") if isinstance(check, dict) else None
        if isinstance(phase, str):
            yield ("gates", "checks", name, "phase"), phase
    for name, options in _table(values, "phases", "options").items():
        path: KeyPath = ("phases", "options", name)
        yield path, name
        after = _table(options, "depends_on") if isinstance(options, dict) else ()
        yield from (((*path, "depends_on"), one) for one in after)
    yield from ((("phases", "prompts", name), name) for name in _table(values, "phases", "prompts"))
    for name, target in _table(values, "phases", "retry_map").items():
        yield ("phases", "retry_map", name), name
        if isinstance(target, str):
            yield ("phases", "retry_map", name), target


def _list_planned(values: dict[str, Any]) -> Iterator[str]:
    for names in _table(values, "phases", "plans").values():
        yield from names or ()


def _list_templates(root: Path | None) -> Iterable[str]:
    return () if root is None else (path.stem for path in (root / TEMPLATES).glob("*.md"))


def _explain(path: KeyPath, name: str, known: set[str]) -> str:
    what = "no phase has this name" if path[-1] == name else f"no phase has the name {quote(name)}"
    if near := _suggest(name, known | {MERGE} if path[0] == "gates" else known):
        return f'{what}; did you mean "{near}"?'
    return f"{what}; add it to [phases.plans], or create {TEMPLATES}/NAME.md"


def _suggest(name: str, known: Iterable[str]) -> str | None:
    return nearest(name.strip().casefold(), sorted(known))


def _table(values: Any, *keys: str) -> dict[str, Any]:
    """Return a table of a layer; empty when it is missing or refused, which is another error."""
    for key in keys:
        values = cast("dict[str, Any]", values).get(key) if isinstance(values, dict) else None
    return values or {}

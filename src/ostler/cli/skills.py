"""ostler skills"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import click
from msgspec import to_builtins

from ostler.cli.out import emit, hint, json_option, say
from ostler.cli.text import one_line, pad, table, tokens, width
from ostler.config.find import find_root
from ostler.config.load import load_settings
from ostler.config.settings import Settings
from ostler.project.skills import (
    Checked,
    Listed,
    Shown,
    accept_skills,
    check_skills,
    list_skills,
    show_skill,
)
from ostler.prompt.skill_lock import LOCK
from ostler.prompt.skill_place import missing_places

_NONE = (
    "No skills.  Write one in .agents/skills/NAME/SKILL.md, or name a directory of them in [skills] paths."
)
_COLOURS = {"accepted": "green", "broken": "red", "gone": "dim"}
_STATES = {
    "accepted": "as it was accepted",
    "new": "not accepted yet",
    "changed": "changed since it was accepted",
    None: f"not watched; ostler skills check --accept writes {LOCK}",
}
_CHARACTERS_PER_TOKEN = 4


@click.group("skills")
def command() -> None:
    """The skills that tasks can ask for."""


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Every skill, and what it is for."""
    root, settings = _project()
    skills = list_skills(root, settings.skills)
    _tell_missing(root, settings)
    if as_json:
        emit({"schema": "ostler.skills/1", "skills": [_summary(skill) for skill in skills]})
        return
    if not skills:
        say(_NONE)
        return
    colours = ["red" if skill.content is None else "" for skill in skills]
    say(table(("skill", "squad", "references", "description"), [_row(one) for one in skills], colours))
    warnings = sum(len(skill.content.warnings) for skill in skills if skill.content)
    if warnings:
        hint(f"\n{_count(warnings, 'warning')}; ostler skills check says what they are")


@command.command("show")
@click.argument("name")
@json_option
def show_command(name: str, as_json: bool) -> None:
    """One skill in full."""
    root, settings = _project()
    shown = show_skill(name, root, settings.skills, settings.documents)
    if as_json:
        facts = {"output": shown.output, "state": shown.state, "sha256": shown.now.sha256}
        origin = {"origin": shown.now.origin}
        emit({"schema": "ostler.skill/1", **to_builtins(shown.content), **facts, **origin})
        return
    say(_card(shown))


@command.command("check")
@click.argument("name", required=False, default="")
@click.option("--accept", is_flag=True, help=f"Write down in {LOCK} that they are well as they are.")
@json_option
def check_command(name: str, accept: bool, as_json: bool) -> int:
    """Look for skills that changed since they were accepted, and for what deserves a look.

    Exit 1 when a skill is new, changed, gone or broken.
    """
    root, settings = _project()
    checked = check_skills(root, settings.skills, name)
    _tell_missing(root, settings)
    if accept:
        checked = accept_skills(root, settings.skills, checked)
    well = all(one.state == "accepted" for one in checked)
    if as_json:
        emit({"schema": "ostler.skills_check/1", "ok": well, "skills": to_builtins(checked)})
    elif not checked:
        say(_NONE)
    else:
        _tell(checked, name)
    return 0 if well else 1


def _project() -> tuple[Path, Settings]:
    here = Path.cwd()
    root = find_root(here, os.environ) or here
    return root, load_settings(root, os.environ, {}).settings


def _tell_missing(root: Path, settings: Settings) -> None:
    for place in missing_places(root, settings.skills):
        hint(f"skills.paths: {place} is no directory")


def _summary(skill: Listed) -> dict[str, object]:
    """Without its texts, which `show` has."""
    if skill.content is None:
        return {"name": skill.name, "path": skill.path, "problem": skill.problem}
    facts = to_builtins(skill.content)
    del facts["body"]
    return {**facts, "references": [one.path for one in skill.content.references]}


def _row(skill: Listed) -> tuple[str, str, str, str]:
    if skill.content is None:
        return (skill.name, "broken", "", one_line(skill.problem))
    content = skill.content
    squad = content.squad or "foundation"
    return (skill.name, squad, str(len(content.references) or ""), one_line(content.description))


def _card(shown: Shown) -> str:
    content = shown.content
    facts = {
        "squad": content.squad or "none: a foundation, whose output is context for others",
        "output": shown.output,
        "file": f"{content.path}, {_size(content.body)}",
        "origin": shown.now.origin if shown.now.origin != shown.now.path else "",
        "state": _STATES[shown.state],
    }
    references = {one.name: _size(one.content) for one in content.references}
    about = [f"  {one_line(content.description)}", ""] if content.description else []
    lines = [content.name, "", *about, *_aligned(facts)]
    lines += _titled("references", _aligned(references)) + _titled("front matter", _aligned(content.meta))
    lines += _titled("warnings", [f"  {one_line(warning)}" for warning in content.warnings])
    return "\n".join(lines)


def _aligned(facts: dict[str, Any]) -> list[str]:
    words = {one_line(name): one_line(_plain(value)) for name, value in facts.items()}
    room = max(map(width, words), default=0)
    return [f"  {pad(name, room)}  {value}" for name, value in words.items() if value]


def _titled(title: str, lines: list[str]) -> list[str]:
    return ["", title, *lines] if lines else []


def _size(text: str) -> str:
    lines, count = len(text.splitlines()), tokens(len(text) // _CHARACTERS_PER_TOKEN)
    return f"{_count(lines, 'line')}, about {count} tokens"


def _plain(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{key}: {_plain(item)}" for key, item in cast("dict[str, Any]", value).items())
        case list():
            return ", ".join(map(_plain, cast("list[Any]", value)))
        case _:
            return "" if value is None else str(value)


def _tell(checked: list[Checked], name: str) -> None:
    rows = [(one.name, one.state, one_line(one.problem or one.path)) for one in checked]
    say(table(("skill", "state", "file"), rows, [_COLOURS.get(one.state, "yellow") for one in checked]))
    remarks = [str(remark) for one in checked for remark in (*one.warnings, *one.findings)]
    if remarks:
        say("\n" + "\n".join(one_line(remark) for remark in remarks))
    open_ones = [one for one in checked if one.state in ("new", "changed", "gone")]
    if open_ones:
        step = " ".join(filter(None, ("ostler skills check", name, "--accept")))
        hint(f"\nLook at them, then: {step}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")

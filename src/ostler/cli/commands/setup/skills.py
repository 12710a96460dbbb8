"""ostler skills"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import click
from msgspec import to_builtins

from ostler.cli.options import json_option
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import (
    display_width,
    format_count,
    format_table,
    format_tokens,
    pad,
    to_one_line,
)
from ostler.config.find import find_root
from ostler.config.load import load_settings
from ostler.config.settings import Settings
from ostler.project.skills import (
    CheckedSkill,
    ListedSkill,
    SkillDetails,
    accept_skills,
    check_skills,
    list_skills,
    show_skill,
)
from ostler.prompt.skill_files import format_tree
from ostler.skills.location import list_missing_folders
from ostler.skills.lock import LOCK

_NO_SKILLS = "No skills.  Next: create .agents/skills/NAME/SKILL.md, or add a directory to [skills] paths."
_COLOURS = {"accepted": "green", "broken": "red", "gone": "dim"}
_STATES = {
    "accepted": "accepted",
    "new": "new, not accepted yet",
    "changed": "changed since it was accepted",
    None: f"not tracked; ostler skills check --accept creates {LOCK}",
}
_CHARACTERS_PER_TOKEN = 4


@click.group("skills")
def command() -> None:
    """List, show and check skills."""


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List all skills with their descriptions."""
    root, settings = _load_project()
    skills = list_skills(root, settings.skills)
    _print_missing(root, settings)
    if as_json:
        print_json({"schema": "ostler.skills/1", "skills": [_to_summary(skill) for skill in skills]})
        return
    if not skills:
        print_text(_NO_SKILLS)
        return
    colours = ["red" if skill.content is None else "" for skill in skills]
    print_text(
        format_table(
            ("skill", "squad", "references", "description"), [_format_row(one) for one in skills], colours
        )
    )
    warnings = sum(len(skill.content.warnings) for skill in skills if skill.content)
    if warnings:
        print_hint(f"\n{format_count(warnings, 'warning')}.  Next: ostler skills check")


@command.command("show")
@click.argument("name")
@json_option
def show_command(name: str, as_json: bool) -> None:
    """Show one skill in full."""
    root, settings = _load_project()
    shown = show_skill(name, root, settings.skills, settings.documents)
    if as_json:
        facts = {"output": shown.output, "state": shown.state, "sha256": shown.current.sha256}
        origin = {"origin": shown.current.origin}
        print_json({"schema": "ostler.skill/1", **to_builtins(shown.content), **facts, **origin})
        return
    print_text(_format_card(shown))


@command.command("check")
@click.argument("name", required=False, default="")
@click.option("--accept", is_flag=True, help=f"Accept the current versions and record them in {LOCK}.")
@json_option
def check_command(name: str, accept: bool, as_json: bool) -> int:
    """Check skills for changes since they were accepted, for risky content, and for what agents cannot use.

    Exits with 1 when a skill is new, changed, gone or broken.
    """
    root, settings = _load_project()
    checked = check_skills(root, settings.skills, name, os.environ)
    _print_missing(root, settings)
    if accept:
        checked = accept_skills(root, settings.skills, checked)
    accepted = all(one.state == "accepted" for one in checked)
    if as_json:
        print_json({"schema": "ostler.skills_check/1", "ok": accepted, "skills": to_builtins(checked)})
    elif not checked:
        print_text(_NO_SKILLS)
    else:
        _print_check(checked, name)
    return 0 if accepted else 1


def _load_project() -> tuple[Path, Settings]:
    here = Path.cwd()
    root = find_root(here, os.environ) or here
    return root, load_settings(root, os.environ, {}).settings


def _print_missing(root: Path, settings: Settings) -> None:
    for path in list_missing_folders(root, settings.skills):
        print_hint(f"skills.paths: {path} is not a directory")


def _to_summary(skill: ListedSkill) -> dict[str, object]:
    """Return the skill without its texts, which `show` prints."""
    if skill.content is None:
        return {"name": skill.name, "path": skill.path, "problem": skill.problem}
    facts = to_builtins(skill.content)
    del facts["body"]
    return {**facts, "references": [one.path for one in skill.content.references]}


def _format_row(skill: ListedSkill) -> tuple[str, str, str, str]:
    if skill.content is None:
        return (skill.name, "broken", "", to_one_line(skill.problem))
    content = skill.content
    squad = content.squad or "foundation"
    return (skill.name, squad, str(len(content.references) or ""), to_one_line(content.description))


def _format_card(shown: SkillDetails) -> str:
    content = shown.content
    facts = {
        "squad": content.squad or "none (foundation: its output is context for other skills)",
        "output": shown.output,
        "file": f"{content.path}, {_format_size(content.body)}",
        "origin": shown.current.origin if shown.current.origin != shown.current.path else "",
        "state": _STATES[shown.state],
    }
    references = {one.name: _format_size(one.content) for one in content.references}
    files = [f"  {line}" for line in format_tree(content.files)] if content.has_more_files else []
    left_out = {one.path: one.reason for one in content.left_out}
    about = [f"  {to_one_line(content.description)}", ""] if content.description else []
    lines = [content.name, "", *about, *_align(facts)]
    lines += _add_title("references", _align(references)) + _add_title("files", files)
    lines += _add_title("not available", _align(left_out)) + _add_title("front matter", _align(content.meta))
    lines += _add_title("warnings", [f"  {to_one_line(warning)}" for warning in content.warnings])
    return "\n".join(lines)


def _align(facts: dict[str, Any]) -> list[str]:
    cells = {to_one_line(name): to_one_line(_format_value(value)) for name, value in facts.items()}
    columns = max(map(display_width, cells), default=0)
    return [f"  {pad(name, columns)}  {value}" for name, value in cells.items() if value]


def _add_title(title: str, lines: list[str]) -> list[str]:
    return ["", title, *lines] if lines else []


def _format_size(text: str) -> str:
    lines, count = len(text.splitlines()), len(text) // _CHARACTERS_PER_TOKEN
    tokens = "1 token" if count == 1 else f"{format_tokens(count)} tokens"
    return f"{format_count(lines, 'line')}, about {tokens}"


def _format_value(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(
                f"{key}: {_format_value(item)}" for key, item in cast("dict[str, Any]", value).items()
            )
        case list():
            return ", ".join(map(_format_value, cast("list[Any]", value)))
        case _:
            return "" if value is None else str(value)


def _print_check(checked: list[CheckedSkill], name: str) -> None:
    rows = [(one.name, one.state, to_one_line(one.problem or one.path)) for one in checked]
    print_text(
        format_table(("skill", "state", "file"), rows, [_COLOURS.get(one.state, "yellow") for one in checked])
    )
    remarks = [str(remark) for one in checked for remark in (*one.warnings, *one.findings)]
    if remarks:
        print_text("\n" + "\n".join(to_one_line(remark) for remark in remarks))
    if notes := [str(note) for one in checked for note in one.availability]:
        print_text("\nNot usable everywhere:\n" + "\n".join(f"  {to_one_line(note)}" for note in notes))
    open_ones = [one for one in checked if one.state in ("new", "changed", "gone")]
    if open_ones:
        step = " ".join(filter(None, ("ostler skills check", name, "--accept")))
        print_hint(f"\nReview the skills above.  Next: {step}")

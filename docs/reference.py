"""Writes the reference pages from the source: settings, codes and commands. `make reference` runs it."""

from __future__ import annotations

import ast
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from ostler.cli.app import COMMANDS, app
from ostler.config import settings as source
from ostler.config.literal import literal
from ostler.errors import CODES, Code, Warn
from ostler.model.cure import CURES, WARNINGS

HERE = Path(__file__).parent / "reference"
MADE = "<!-- made by docs/reference.py: change the source instead -->\n"
GROUPS = ("agent", "model", "task", "git", "files", "ours")


def settings_page() -> str:
    """Every section of ostler.toml, with each key's kind, default and meaning."""
    text = Path(str(source.__file__)).read_text("utf-8")
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    lines = text.splitlines()
    parts = [
        MADE,
        "# Settings reference\n",
        "Flag, then environment (`OSTLER_RUN__JOBS=3`), then `ostler.toml`, then "
        "`~/.config/ostler/config.toml`, then the default. `ostler config show` prints every value "
        "and where it comes from; [Settings](../settings.md) explains those that people change first.\n",
    ]
    for node in classes:
        heading = ast.get_docstring(node) or ""
        if heading.startswith("["):
            parts.append(_section(heading, node, lines))
    return "\n".join(parts)


def _section(heading: str, node: ast.ClassDef, lines: list[str]) -> str:
    name, _, about = heading.partition(": ")
    rows = [_setting(field, lines) for field in node.body if isinstance(field, ast.AnnAssign)]
    table = ["| key | kind | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join([f"## {name}\n", *([_sentence(about) + "\n"] if about else []), *table, ""])


def _setting(field: ast.AnnAssign, lines: list[str]) -> str:
    key, kind = ast.unparse(field.target), ast.unparse(field.annotation)
    default = "needed" if field.value is None else f"`{_toml(ast.literal_eval(field.value))}`"
    cells = (f"`{key}`", f"`{_kind(kind)}`", default, _meaning(field, lines))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _meaning(field: ast.AnnAssign, lines: list[str]) -> str:
    """The comment behind a field, or the one line above it."""
    said = lines[(field.end_lineno or field.lineno) - 1].partition("  # ")[2]
    above = lines[field.lineno - 2].strip()
    return said.strip() or (above[2:] if above.startswith("# ") else "")


def _kind(annotation: str) -> str:
    words = {
        "tuple[str, ...]": "list of texts",
        "str": "text",
        "bool": "true or false",
        "AtLeastOne": "whole number, 1 or more",
        "NotNegative": "whole number, 0 or more",
        "Seconds": "seconds",
        "PositiveSeconds": "seconds, above 0",
        "Share": "0 to 1",
        "Dollars": "dollars",
        "Word": "text",
    }
    bare = annotation.removesuffix(" | None")
    if bare.startswith("Literal["):
        return bare[8:-1].replace("'", '"').replace(", ", " | ")
    if bare.startswith("dict["):
        return "table"
    return words.get(bare, _alias(bare))


def _alias(name: str) -> str:
    """A name of settings.py, spelled out where it is a choice; a number with bounds is a number."""
    found: Any = getattr(source, name, None)
    choices = getattr(found, "__args__", ())
    if choices and all(isinstance(choice, str) for choice in choices):
        return " | ".join(f'"{choice}"' for choice in choices)
    if "int" in name:
        return "whole number"
    return "list" if "tuple[" in name else "text"


def _toml(value: object) -> str:
    return "not set" if value is None else literal(value)


def codes_page() -> str:
    """Every code with its cause, its cure, whether it is tried again, and its exit code."""
    parts = [
        MADE,
        "# Codes\n",
        "How something ended badly, from a closed list: names are added, never renamed. A task carries "
        "its code in `ostler show ID --json`, a command that fails prints it with `--json`. "
        "ID stands for the task's id. `again` says whether Ostler itself tries again before it gives up.\n",
    ]
    for group, codes in zip(GROUPS, _grouped(), strict=True):
        parts.append(
            f"## {group.capitalize()}\n\n| code | cause | cure | again | exit |\n|---|---|---|---|---|"
        )
        parts += [_code(code) for code in codes]
        parts.append("")
    parts.append(WARNED)
    parts += [f"| `{warn}` | {WARNINGS[warn][0]} | {WARNINGS[warn][1]} |" for warn in Warn]
    return "\n".join(parts) + "\n\n" + EXITS


WARNED = """\
## Warnings

Said beside a success, never in a task's code.

| warning | cause | cure |
|---|---|---|"""

EXITS = """\
## Exit codes

| exit | means |
|---|---|
| 0 | done |
| 1 | a task failed or was cancelled, or something could not be done |
| 2 | the command, a name, a file or a setting is wrong; nothing was changed |
| 3 | a bug of ours; the message names a log |
| 4 | a task waits for a person: a gate, a question, a pause |
| 5 | a limit, or iterations or money used up; it goes on later |
| 130, 143 | stopped by Ctrl-C or SIGTERM; everything is kept |

Of several tasks the first that applies of 130 or 143, 3, 1, 5, 4, 0.
"""


def _grouped() -> list[list[Code]]:
    """The codes in the groups that errors.py draws with comments."""
    starts = [Code.AGENT_NOT_FOUND, Code.RATE_LIMITED, Code.TASK_NOT_EXECUTABLE, Code.GIT_NO_COMMITS]
    starts += [Code.SKILL_NOT_FOUND, Code.CONFIG_INVALID]
    places = [list(Code).index(code) for code in starts] + [len(Code)]
    return [list(Code)[begin:end] for begin, end in pairwise(places)]


def _code(code: Code) -> str:
    facts = CODES[code]
    again = "yes" if facts.retryable else "no"
    return f"| `{code}` | {facts.meaning} | {CURES[code]} | {again} | {facts.exit} |"


def commands_page() -> str:
    """The help of every command, as the program prints it."""
    parts = [MADE, "# Commands\n", "What `ostler COMMAND --help` prints. Every command has `--json`.\n"]
    for name, (_, about) in COMMANDS.items():
        command = app.get_command(click.Context(app, info_name="ostler"), name)  # type: ignore[arg-type]
        assert command is not None
        parts.append(
            f"## ostler {name}\n\n{_sentence(about)}\n\n```text\n{_help(command, f'ostler {name}')}\n```\n"
        )
    return "\n".join(parts)


def _help(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path, terminal_width=90, max_content_width=90)
    said = [command.get_help(context)]
    if isinstance(command, click.Group):
        said += [_help(command.commands[name], f"{path} {name}") for name in sorted(command.commands)]
    return "\n\n".join(said)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


PAGES = {"settings.md": settings_page, "codes.md": codes_page, "commands.md": commands_page}


def main() -> int:
    """Write the pages; with --check, only say which are not as the source has them."""
    stale = [name for name, page in PAGES.items() if _read(HERE / name) != page()]
    if "--check" in sys.argv:
        print(*(f"docs/reference/{name} is stale: make reference" for name in stale), sep="\n")
        return 1 if stale else 0
    for name in stale:
        (HERE / name).write_text(PAGES[name](), "utf-8")
    return 0


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())

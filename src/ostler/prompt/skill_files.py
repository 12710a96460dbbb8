"""Describes the files of a skill that are not in the prompt: a tree, and how the agent reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from msgspec import Struct

from ostler.model.call import READ_SKILL_FILE
from ostler.skills.content import SkillContent
from ostler.skills.directory import LeftOutFile, SkillFile
from ostler.skills.working_directory import SKILL
from ostler.text import format_size

_MAX_LINES = 200
_MAX_LEFT_OUT = 20

_TITLE = "---\n## Files of this skill"
_FOR_PROGRAMS = f"""\
The whole directory of this skill is in `{SKILL}/`, in your working directory: {{path}}
It is read-only. Paths in the instructions above are relative to it. Read the files that you need. Run \
scripts from your working directory, such as `python3 {SKILL}/scripts/NAME.py`, and write files there, not \
in `{SKILL}/`."""
_FOR_MODELS = f"""\
Read the files that you need with the tool `{READ_SKILL_FILE}`; paths are relative to the directory of this \
skill. You cannot read binary files, and you cannot run scripts."""


class SkillFilesNote(Struct, frozen=True):
    """The section about the files of a skill, for agents that are programs and for model APIs."""

    for_programs: str = ""
    for_models: str = ""

    @property
    def size(self) -> int:
        return max(len(self.for_programs), len(self.for_models))


def describe_skill_files(skill: SkillContent, path: str) -> SkillFilesNote:
    """Return the sections; `path`: the directory of the copy."""
    tree = "\n".join(format_tree(skill.files, _MAX_LINES))
    parts = (_format_block(tree), _format_left_out(skill.left_out))
    how = (_FOR_PROGRAMS.format(path=path), _FOR_MODELS)
    return SkillFilesNote(*("\n\n".join(filter(None, (_TITLE, one, *parts))) for one in how))


def format_tree(files: Iterable[SkillFile], most: int = 0) -> list[str]:
    """Return one line per directory and file, indented; after `most` lines the rest is counted."""
    files = list(files)
    lines: list[tuple[str, str]] = []
    listed = 0
    above: tuple[str, ...] = ()
    for one in sorted(files, key=lambda one: PurePosixPath(one.path).parts):
        *folders, name = PurePosixPath(one.path).parts
        new = [*_list_new_folders(above, folders), ("  " * len(folders) + name, _describe(one))]
        if most and len(lines) + len(new) > most:
            break
        lines += new
        above = tuple(folders)
        listed += 1
    width = max((len(name) for name, _ in lines), default=0)
    shown = [f"{name:<{width}}  {about}".rstrip() for name, about in lines]
    more = len(files) - listed
    return [*shown, f"({more} more files: list the directory)"] if more else shown


def _list_new_folders(above: tuple[str, ...], folders: list[str]) -> Iterator[tuple[str, str]]:
    for depth, folder in enumerate(folders):
        if above[: depth + 1] != tuple(folders[: depth + 1]):
            yield "  " * depth + f"{folder}/", ""


def _describe(file: SkillFile) -> str:
    kinds = ("executable" if file.is_executable else "", "binary" if file.is_binary else "")
    return ", ".join(filter(None, (format_size(file.size), *kinds)))


def _format_block(tree: str) -> str:
    return f"```text\n{tree}\n```" if tree else ""


def _format_left_out(left_out: tuple[LeftOutFile, ...]) -> str:
    if not left_out:
        return ""
    lines = [f"- {one.path}: {one.reason}" for one in left_out[:_MAX_LEFT_OUT]]
    more = len(left_out) - _MAX_LEFT_OUT
    return "\n".join(("Not available:", *lines, *((f"- and {more} more",) if more > 0 else ())))

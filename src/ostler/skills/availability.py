"""Finds out what of a skill will not be available to agents, and why."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ostler.config.settings import SkillsSettings
from ostler.errors import OstlerError
from ostler.files.front_matter import split_front_matter
from ostler.skills.content import SkillContent
from ostler.skills.directory import SkillFile
from ostler.skills.file import read_text
from ostler.skills.finding import LintFinding
from ostler.skills.format import check_format
from ostler.skills.links import check_links
from ostler.skills.location import FILE, SkillLocation

_SCRIPTS = "scripts"
_INTERPRETERS = {".py": "python3", ".sh": "sh", ".bash": "bash", ".js": "node", ".mjs": "node", ".rb": "ruby"}
_SHEBANG = re.compile(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(\S+)")
_MAX_BINARY = 5


class Script(Struct, frozen=True):
    """A script of a skill: the program that runs it, and the modules that it imports, with their lines."""

    path: str  # as it is printed
    interpreter: str
    imports: dict[str, int] = {}


def check_availability(
    location: SkillLocation, skill: SkillContent, settings: SkillsSettings
) -> Iterator[LintFinding]:
    """Yield rules of the format that are not met, files that a model API cannot use, and missing files."""
    folder, shown = Path(skill.folder), location.display_path
    text = read_text(folder, FILE, settings.max_skill_bytes, location.path)
    yield from check_format(split_front_matter(text, location.path), location.path)
    for one in skill.files:
        if one.path.endswith(".md") and one.path != FILE:
            yield from _check_links_of(folder, one, shown, settings)
    yield from _check_for_models(skill, shown)
    for one in _list_scripts(skill):
        if not one.is_executable and _read_start(folder, one).startswith("#!"):
            what = "not executable: agents have to start it with its interpreter, or run chmod +x"
            yield LintFinding(f"{shown}/{one.path}", 1, what, 1)


def read_scripts(skill: SkillContent, shown: str) -> Iterator[Script]:
    """Yield the scripts of a skill."""
    own = {PurePosixPath(part).stem for one in skill.files for part in PurePosixPath(one.path).parts}
    for one in _list_scripts(skill):
        start = _read_start(Path(skill.folder), one)
        interpreter = _find_interpreter(one.path, start)
        if interpreter:
            imports = _find_imports(start) if interpreter.startswith("python") else {}
            outside = {name: line for name, line in imports.items() if name not in own}
            yield Script(f"{shown}/{one.path}", interpreter, outside)


def _check_links_of(
    folder: Path, file: SkillFile, shown: str, settings: SkillsSettings
) -> Iterator[LintFinding]:
    path = f"{shown}/{file.path}"
    try:
        text = read_text(folder, file.path, settings.max_file_bytes, path)
    except OstlerError as error:
        yield LintFinding(path, 0, f"not readable for a model API: {error.message.removeprefix(path)}", 1)
        return
    yield from check_links(folder, file.path, path, text)


def _check_for_models(skill: SkillContent, shown: str) -> Iterator[LintFinding]:
    """Yield what agents without programs cannot use."""
    binary = [one for one in skill.files if one.is_binary]
    for one in binary[:_MAX_BINARY]:
        yield LintFinding(f"{shown}/{one.path}", 0, "binary: a model API cannot read it", 1)
    if (more := len(binary) - _MAX_BINARY) > 0:
        yield LintFinding(shown, 0, f"{more} more binary files that a model API cannot read", 1)
    if any(True for _ in _list_scripts(skill)):
        what = "a model API cannot run scripts; use an agent such as claude (--executor, documents.executor)"
        yield LintFinding(f"{shown}/{_SCRIPTS}", 0, what, 1)


def _list_scripts(skill: SkillContent) -> Iterator[SkillFile]:
    for one in skill.files:
        if PurePosixPath(one.path).parts[0] == _SCRIPTS and not one.is_binary:
            yield one


def _read_start(folder: Path, file: SkillFile) -> str:
    try:
        return read_text(folder, file.path, file.size, file.path)
    except OstlerError:
        return ""  # it is reported when it is read


def _find_interpreter(path: str, text: str) -> str:
    found = _SHEBANG.match(text)
    return PurePosixPath(found[1]).name if found else _INTERPRETERS.get(PurePosixPath(path).suffix, "")


def _find_imports(text: str) -> dict[str, int]:
    """Return the outermost module of each import at the top of a script, with its line."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, int] = {}
    for node in tree.body:
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module]
        for name in names:
            found.setdefault(name.partition(".")[0], node.lineno)
    return found

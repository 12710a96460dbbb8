"""Templates of phase prompts: lookup, validation and rendering."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from msgspec import Struct

from ostler.config.checks.expect import nearest
from ostler.config.phase_names import TEMPLATES
from ostler.errors import Code, UsageError
from ostler.lazy import lazy_pattern
from ostler.model.plan import BUILT_IN_PHASES, DOCUMENT_PHASE
from ostler.prompt.variables import KNOWN
from ostler.text import describe_os_error

BUILT_IN = Path(__file__).parent / "phases"
GENERAL = "general"

_MAX_ERRORS = 20
_PHASE = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_NAME = r"\{\{[ ]?([#/]?)([A-Za-z][A-Za-z0-9_-]*+)[ ]?\}\}"
# A tag alone on its line includes the line end; an empty value also removes the blank line after it.
_TAG = lazy_pattern(rf"^{_NAME}(\n|\Z)|{_NAME}", re.MULTILINE)


class Template(Struct, frozen=True):
    text: str
    source: str  # a path, or the key of an inline text

    @property
    def shown_source(self) -> str:
        """The source for `ostler show`: the path or key, or "built-in"."""
        return "built-in" if self.source.startswith(f"ostler/{BUILT_IN.name}/") else self.source


class _Tag(Struct, frozen=True):
    start: int
    end: int
    kind: str  # "#" opens a section, "/" closes it, "" is a value
    name: str
    line_end: str  # the line end of a value that is alone on its line


def is_phase_name(name: str) -> bool:
    """Return whether a phase can have this name, which is part of file names."""
    return _PHASE.fullmatch(name) is not None


def find_template(phase: str, task_text: str, texts: Mapping[str, str], root: Path) -> Template:
    """Return the text of the task, that of [phases.prompts], the project's file or the built-in template."""
    if task_text.strip():
        return load_template(phase, task_text, root, f"prompts.{phase} of the task")
    return load_template(phase, texts.get(phase, ""), root, f"phases.prompts.{phase}")


def load_template(phase: str, inline: str, root: Path, source: str = "") -> Template:
    """Return the inline text, the project's file, the built-in template or the general one; raises
    UsageError.
    """
    if not is_phase_name(phase):
        raise _invalid(f"invalid phase name {phase!r:.80}", "use at most 40 letters, digits, - and _")
    template = _find(phase, inline, root, source)
    if not template.text.strip():
        raise _invalid(f"{template.source}: the template is empty", "write a template, or delete the file")
    check_template(template)
    return template


def load_built_in(phase: str) -> Template:
    """Return the built-in template of a phase, or the general one."""
    path = BUILT_IN / f"{phase if phase in (*BUILT_IN_PHASES, DOCUMENT_PHASE) else GENERAL}.md"
    return Template(_read(path), f"ostler/{BUILT_IN.name}/{path.name}")


def list_variables(template: Template) -> set[str]:
    return {tag.name for tag in _find_tags(template.text)}


def check_template(template: Template, known: frozenset[str] = KNOWN) -> None:
    """Raise UsageError with one line per error."""
    found = islice(find_template_errors(template.text, known), _MAX_ERRORS)
    if mistakes := [f"{template.source}:{line}: {what}" for line, what in found]:
        raise _invalid("\n".join(mistakes), f"known variables: {', '.join(sorted(known))}")


def render_template(text: str, variables: Mapping[str, str]) -> str:
    """Replace each variable once; the inserted text is not parsed again. A name with a value is known."""
    check_template(Template(text, "template"), KNOWN | variables.keys())
    parts: list[str] = []
    hidden = at = 0  # open sections without a value, and the end of the last tag
    for tag in _find_tags(text):
        if not hidden:
            parts.append(text[at : tag.start])
        at = tag.end
        value = variables.get(tag.name, "")
        if tag.kind == "#":
            hidden += bool(hidden or not value)
        elif tag.kind == "/":
            hidden -= bool(hidden)
        elif value and not hidden:
            parts.append(value + tag.line_end)
        elif tag.line_end and text.startswith("\n", at):
            at += 1
    return "".join([*parts, text[at:]])


def _find(phase: str, inline: str, root: Path, source: str) -> Template:
    if inline.strip():
        return Template(inline, source or f"phase {phase}")
    own = TEMPLATES / f"{phase}.md"
    if os.path.lexists(root / own):
        return Template(_read(root / own), str(own))
    return load_built_in(phase)


def _read(path: Path) -> str:
    if not path.is_file():  # reading a pipe would wait for ever
        raise UsageError(f"{path} is not a regular file", "correct or delete it")
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text", "save it as UTF-8") from None
    except OSError as error:
        hint = "correct or delete it"
        raise UsageError(f"{path} cannot be read: {describe_os_error(error)}", hint) from None


def _find_tags(text: str) -> Iterator[_Tag]:
    for found in _TAG.finditer(text):
        alone_kind, alone_name, newline, kind, name = found.groups()
        if name:
            yield _Tag(found.start(), found.end(), kind, name, "")
        else:
            yield _Tag(found.start(), found.end(), alone_kind, alone_name, newline)


def find_template_errors(text: str, known: frozenset[str] = KNOWN) -> Iterator[tuple[int, str]]:
    """Yield each mistake with its line in the text."""
    open_sections: list[tuple[int, str]] = []
    line, counted = 1, 0
    for tag in _find_tags(text):
        line, counted = line + text.count("\n", counted, tag.start), tag.start
        if tag.name not in known:
            yield line, _describe_unknown(tag.name, known)
        if tag.kind == "#":
            open_sections.append((line, tag.name))
        elif tag.kind == "/" and (not open_sections or open_sections.pop()[1] != tag.name):
            yield line, f"{{{{/{tag.name}}}}} closes no open section"
    for opened, name in open_sections:
        yield opened, f"{{{{#{name}}}}} is not closed"


def _describe_unknown(name: str, known: frozenset[str]) -> str:
    meant = nearest(name.upper(), sorted(known))
    return f"unknown variable {{{{{name}}}}}" + (f"; did you mean {meant}?" if meant else "")


def _invalid(message: str, hint: str) -> UsageError:
    return UsageError(message, hint, Code.CONFIG_INVALID)

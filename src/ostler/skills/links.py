"""Finds files that the texts of a skill name, but that do not exist."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from ostler.lazy import lazy_pattern
from ostler.markdown import blank_blocks, blank_code
from ostler.skills.finding import LintFinding

# [text](path) or [text](<path>), without an address and without an anchor of the same file.
_OUTSIDE = r"(?!\w+:|#|/|~)"
_LINK = lazy_pattern(rf"\]\((?:<{_OUTSIDE}([^>#?\n]+)[^>\n]*>|{_OUTSIDE}([^)\s>#?]+)[^)\n]*)\)")
# `scripts/fill.py`: a path in one of the usual directories, alone or as an argument of a command.
_FOLDERS = r"(?:scripts|references|reference|assets|templates)"
_QUOTED = lazy_pattern(rf"`[^`\n]*?(?<![\w./-])((?:\./)?{_FOLDERS}/[\w./-]*\w\.\w+)[^`\n]*`")


def check_links(folder: Path, name: str, path: str, text: str, above: int = 0) -> Iterator[LintFinding]:
    """Yield a finding for each missing file that a text names; `above`: lines before the text.

    A link in code is an example of Markdown.
    """
    seen: set[str] = set()
    lines = zip(blank_code(text).split("\n"), blank_blocks(text).split("\n"), strict=True)
    for number, (prose, line) in enumerate(lines, above + 1):
        links = (unquote(one or other) for one, other in _LINK.findall(prose))
        for target in map(os.path.normpath, (*links, *_QUOTED.findall(line))):
            if target not in seen and not _exists(folder, name, target):
                yield LintFinding(path, number, f"{target} does not exist", 1)
            seen.add(target)


def _exists(folder: Path, name: str, target: str) -> bool:
    """Return whether a path exists, relative to the file or to the skill; one that leaves it counts."""
    beside = os.path.normpath(PurePosixPath(name).parent / target)
    if beside.startswith("..") or os.path.lexists(folder / beside):
        return True
    return not target.startswith("..") and os.path.lexists(folder / target)

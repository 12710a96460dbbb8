"""Finds files that the texts of a skill name, but that do not exist."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ostler.skills.finding import LintFinding

# [text](path), without an address and without an anchor of the same file.
_LINK = re.compile(r"\]\(<?(?!\w+:|#|/|~)([^)\s>#?]+)[^)]*\)")
# `scripts/fill.py`: a path in one of the usual directories, alone or as an argument of a command.
_FOLDERS = r"(?:scripts|references|reference|assets|templates)"
_QUOTED = re.compile(rf"`[^`\n]*?(?<![\w./-])((?:\./)?{_FOLDERS}/[\w./-]*\w\.\w+)[^`\n]*`")


def check_links(folder: Path, name: str, path: str, text: str, above: int = 0) -> Iterator[LintFinding]:
    """Yield a finding for each missing file that a text names; `above`: lines before the text."""
    seen: set[str] = set()
    for number, line in enumerate(text.split("\n"), above + 1):
        for target in map(os.path.normpath, (*_LINK.findall(line), *_QUOTED.findall(line))):
            if target not in seen and not _exists(folder, name, target):
                yield LintFinding(path, number, f"{target} does not exist", 1)
            seen.add(target)


def _exists(folder: Path, name: str, target: str) -> bool:
    """Return whether a path exists, relative to the file or to the skill; one that leaves it counts."""
    beside = os.path.normpath(PurePosixPath(name).parent / target)
    if beside.startswith("..") or os.path.lexists(folder / beside):
        return True
    return not target.startswith("..") and os.path.lexists(folder / target)

"""The files of the dashboard: text never becomes markup, nothing is inline, and no file is long."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ostler.web

STATIC = Path(ostler.web.__file__).parent / "static"
VENDOR = STATIC / "vendor"  # unmodified; test_web_vendor.py has its rules
FILES = sorted(
    path
    for path in STATIC.rglob("*")
    if path.suffix in (".js", ".css", ".html") and not path.is_relative_to(VENDOR)
)
NEVER = {
    "text as markup": r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser"
    r"|createContextualFragment|setHTMLUnsafe|parseHTMLUnsafe|srcdoc",
    "text as program": r"\beval\s*\(|new\s+Function\b|set(?:Timeout|Interval)\s*\(\s*[\"'`]",
    "an address that runs": r"javascript:",
    "a handler in an attribute": r"<[^>\n]*\son[a-z]+\s*=|setAttribute\(\s*[\"'`](?:on|style)",
    "another place": r"https?://(?!www\.w3\.org/)[\w.]",
}
INLINE = r"<style\b|\sstyle\s*=|<script(?![^>]*\ssrc=)|<script[^>]*>[^<]"


def broken(text: str, suffix: str) -> list[str]:
    """Return the rules that a file breaks."""
    found = [name for name, pattern in NEVER.items() if re.search(pattern, text)]
    return [*found, *(["inline"] if suffix == ".html" and re.search(INLINE, text) else [])]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(STATIC)))
def test_a_file_keeps_the_rules(path: Path) -> None:
    """No markup from text, no inline code, no external resources, and fewer than 400 lines."""
    text = path.read_text("utf-8")
    assert broken(text, path.suffix) == []
    assert text.count("\n") < 400


@pytest.mark.parametrize(
    "line",
    [
        "node.innerHTML = title;",
        "node.insertAdjacentHTML('beforeend', title)",
        "document.write(title)",
        "eval (title)",
        "new Function(title)()",
        "setTimeout('go()', 1)",
        "location = 'javascript:go()'",
        "<button onclick='go()'>",
        "node.setAttribute('onclick', title)",
        "import 'https://cdn.example.org/x.js'",
        "<p style='color: red'>",
        "<style>p {}</style>",
        "<script>go()</script>",
        "<script type='module'>go()</script>",
    ],
)
def test_a_file_that_breaks_a_rule_is_found(line: str) -> None:
    """The rules above can fail."""
    assert broken(line, ".html")


def test_there_are_files_to_look_at() -> None:
    """The page, its style and its modules are package data."""
    assert {"index.html", "css/base.css", "js/app.js"} <= {str(path.relative_to(STATIC)) for path in FILES}

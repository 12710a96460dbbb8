"""Vendored libraries: unmodified, with their licence."""

from __future__ import annotations

import hashlib
from pathlib import Path

import ostler.web

VENDOR = Path(ostler.web.__file__).parent / "static" / "vendor"
LANGUAGES = Path(ostler.web.__file__).parent / "static" / "js" / "review" / "diff" / "languages.js"


def test_each_file_has_the_hash_that_is_recorded() -> None:
    """A changed, an added and a missing file fail."""
    for sums in VENDOR.glob("*/SHA256SUMS"):
        recorded = dict(reversed(line.split("  ", 1)) for line in sums.read_text().splitlines())
        files = [path for path in sums.parent.rglob("*") if path.is_file() and path != sums]
        found = {
            str(path.relative_to(sums.parent)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
        }
        assert found == recorded


def test_highlight_has_its_licence_and_the_languages_that_are_used() -> None:
    """Every language of the page has a grammar."""
    highlight = VENDOR / "highlight"
    assert "BSD 3-Clause License" in (highlight / "LICENSE").read_text()
    grammars = {path.name.removesuffix(".min.js") for path in (highlight / "es/languages").iterdir()}
    text = LANGUAGES.read_text()
    assert [name for name in grammars if f'["{name}", ' not in text] == []

"""The colours of code are readable on every background that a line can have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ostler.web

CSS = Path(ostler.web.__file__).parent / "static" / "css"
LEAST = 4.5  # of WCAG 2 AA, for text of this size
THEMES = {"light": ":root {", "dark": ':root[data-theme="dark"] {'}
GROUNDS = ("surface", "code-added", "code-removed", "word-added", "word-removed", "picked")
PLAIN = ("surface", "bg", "raised", "sunken")


def _variables(theme: str) -> dict[str, str]:
    """Return the colours of a theme."""
    found: dict[str, str] = {}
    for name in ("base.css", "code.css"):
        text = (CSS / name).read_text("utf-8")
        begin = text.index(THEMES[theme]) + len(THEMES[theme])
        found |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text[begin : text.index("}", begin)]))
    return found


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    """Black on white has 21, and a known grey has 4.54."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
def test_code_is_readable_on_every_background(theme: str) -> None:
    """Each colour of a token, and plain text, on unchanged, changed, marked and selected lines."""
    colours = _variables(theme)
    tokens = ["text", *(name for name in colours if name.startswith("t-"))]
    assert len(tokens) == 9
    low = {
        (token, ground): round(contrast(colours[token], colours[ground]), 2)
        for token in tokens
        for ground in GROUNDS
        if contrast(colours[token], colours[ground]) < LEAST
    }
    assert low == {}


@pytest.mark.parametrize("theme", THEMES)
def test_quiet_text_is_readable(theme: str) -> None:
    """Muted and faint text on plain backgrounds; line numbers on those of changed lines."""
    colours = _variables(theme)
    pairs = [(text, ground) for text in ("muted", "faint") for ground in PLAIN]
    pairs += [("muted", ground) for ground in ("code-added", "code-removed")]
    low = {pair: round(contrast(*(colours[name] for name in pair)), 2) for pair in pairs}
    assert {pair: found for pair, found in low.items() if found < LEAST} == {}


def test_no_text_is_faded() -> None:
    """An opacity takes contrast from every text below it; only shapes without a text have one."""
    faded = re.compile(r"^([^{}@]+) \{[^}]*[^-]\bopacity: 0?\.\d", re.MULTILINE)
    found = [name for file in sorted(CSS.glob("*.css")) for name in faded.findall(file.read_text("utf-8"))]
    assert found == [".window-bar", ".tl-hatch"]

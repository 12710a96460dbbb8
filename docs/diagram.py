"""Draws docs/pictures/concepts.svg: how a task flows. `make pictures` runs it."""

from __future__ import annotations

from pathlib import Path

TARGET = Path(__file__).parent / "pictures" / "concepts.svg"
INK, MUTED, LINE, PAPER = "#1d1c1a", "#6a6862", "#cbc9c2", "#ffffff"
RUN, GOOD, ASK = "#1f6fb2", "#2c7a4b", "#a8501f"
FONT = "ui-sans-serif, system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"


def box(x: int, y: int, width: int, height: int, stroke: str = LINE, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{PAPER}" '
        f'stroke="{stroke}" stroke-width="1.5"{dashed}/>'
    )


def text(x: int, y: int, words: str, size: int = 14, colour: str = INK, weight: int = 400) -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" font-weight="{weight}" '
        f'text-anchor="middle">{words}</text>'
    )


def arrow(path: str, colour: str = MUTED) -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5" marker-end="url(#end)"/>'


def diamond(x: int, y: int) -> str:
    return (
        f'<path d="M{x} {y - 26} L{x + 34} {y} L{x} {y + 26} L{x - 34} {y} Z" fill="{PAPER}" '
        f'stroke="{ASK}" stroke-width="1.5"/>' + text(x, y + 5, "gate", 13, ASK, 600)
    )


def phase(x: int, name: str) -> str:
    """A loop of calls that ends in a commit, and the gate behind it."""
    return "".join(
        (
            box(x, 90, 210, 120, RUN),
            text(x + 105, 116, name, 15, RUN, 650),
            box(x + 22, 134, 96, 34),
            text(x + 70, 156, "call agent", 13),
            arrow(f"M{x + 36} 168 C{x + 36} 200 {x + 104} 200 {x + 104} 171"),
            text(x + 70, 203, "until it is done", 11, MUTED),
            f'<circle cx="{x + 170}" cy="151" r="7" fill="{GOOD}"/>',
            arrow(f"M{x + 118} 151 L{x + 158} 151"),
            text(x + 170, 180, "commit", 12, GOOD),
            arrow(f"M{x + 210} 151 L{x + 226} 151"),
            diamond(x + 262, 151),
        )
    )


def picture() -> str:
    parts = [
        box(20, 116, 110, 70),
        text(75, 146, "task", 16, INK, 650),
        text(75, 167, "ostler new", 12, MUTED),
        arrow("M130 151 L152 151"),
        phase(156, "implement"),
        arrow("M452 151 L470 151"),
        phase(474, "test"),
        arrow("M770 151 L790 151"),
        box(794, 116, 146, 70, GOOD),
        text(867, 140, "branch,", 13, GOOD, 600),
        text(867, 157, "pull request", 13, GOOD, 600),
        text(867, 174, "or document", 13, GOOD, 600),
        arrow("M736 125 C736 56 261 56 261 86", ASK),
        text(498, 58, "no: back, with the reason (a failing test, a review, your words)", 12, ASK),
        box(20, 246, 920, 44, INK),
        text(480, 273, "journal: every step is written down before the next one is decided", 14, INK, 600),
    ]
    parts += [arrow(f"M{x} {y} L{x} 242") for x, y in ((75, 188), (261, 212), (579, 212), (867, 188))]
    parts += [arrow(f"M{x} 290 L{x} 316") for x in (110, 296, 480, 664, 850)]
    readers = ("status, log, watch", "dashboard", "notifications", "traces", "MCP")
    for x, words in zip((110, 296, 480, 664, 850), readers, strict=True):
        parts += [box(x - 80, 320, 160, 36), text(x, 343, words, 13)]
    marker = (
        f'<marker id="end" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 Z" fill="{MUTED}"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 376" font-family="{FONT}" role="img" '
        f'aria-label="A task goes through phases, each judged by a gate; all of it is in the journal">'
        f'<defs>{marker}</defs><rect width="960" height="376" rx="12" fill="#f6f6f4"/>'
        f"{''.join(parts)}</svg>\n"
    )


if __name__ == "__main__":
    TARGET.write_text(picture(), "utf-8")

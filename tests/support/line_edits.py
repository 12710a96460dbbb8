"""Edits of real texts whose lines are followed, so that the right place of each line is known."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

TEXTS = Path(__file__).parent.parent / "data" / "lines"
_WORD = re.compile(r"[A-Za-z_]\w{3,}")


class Line(NamedTuple):
    number: int  # in the old text; 0: added
    text: str


class Edited(NamedTuple):
    """An edit of a text, with the line that a comment is about."""

    name: str
    old: list[str]
    new: list[Line]
    line: int

    @property
    def place(self) -> int:
        """The number of the line in the new text; 0 if it is gone."""
        return next((n for n, one in enumerate(self.new, 1) if one.number == self.line), 0)

    @property
    def state(self) -> str:
        """What happened to the line: same, spaced, edited or gone."""
        if not self.place:
            return "gone"
        old, new = self.old[self.line - 1], self.new[self.place - 1].text
        if old == new:
            return "same"
        return "spaced" if "".join(old.split()) == "".join(new.split()) else "edited"


Edit = Callable[[list[Line], int, random.Random], list[Line]]


def list_edits(seeds: int) -> list[Edited]:
    """Return each edit of each text, with `seeds` lines each; the same ones every time."""
    return [
        make_edit(name, edit, path, seed)
        for name, edit in EDITS.items()
        for path in sorted(TEXTS.glob("*.txt"))
        for seed in range(seeds)
    ]


def make_edit(name: str, edit: Edit, path: Path, seed: int) -> Edited:
    chance = random.Random(f"{name} {path.stem} {seed}")
    old = path.read_text().splitlines()
    lines = [Line(number, text) for number, text in enumerate(old, 1)]
    at = chance.choice(
        [n for n, one in enumerate(lines) if len(one.text.strip()) > 1 and 8 < n < len(old) - 8]
    )
    return Edited(f"{name}-{path.stem}-{seed}", old, edit(lines, at, chance), at + 1)


def block_around(lines: list[Line], at: int) -> tuple[int, int]:
    """Return the lines between the blank ones around a line."""
    start, end = at, at + 1
    while start > 0 and lines[start - 1].text.strip():
        start -= 1
    while end < len(lines) and lines[end].text.strip():
        end += 1
    return start, end


def other_block(lines: list[Line], at: int, chance: random.Random) -> tuple[int, int]:
    """Return another block of the text."""
    start, end = block_around(lines, at)
    others = [n for n, one in enumerate(lines) if one.text.strip() and not start - 2 <= n < end + 2]
    return block_around(lines, chance.choice(others))


def reword(text: str, chance: random.Random) -> str:
    """Return the line with one word replaced, or with something at its end."""
    words = list(_WORD.finditer(text))
    if not words:
        return text + "  # checked"
    word = chance.choice(words)
    return f"{text[: word.start()]}{word[0]}_value{text[word.end() :]}"


def added(*texts: str) -> list[Line]:
    return [Line(0, text) for text in texts]


def insert_above(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    start, _ = block_around(lines, at)
    return [*lines[:start], *added("new one", "", "new two", ""), *lines[start:]]


def insert_beside(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    return [*lines[:at], *added("before it"), lines[at], *added("after it"), *lines[at + 1 :]]


def delete_above(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    return [*lines[: at - 6], *lines[at - 3 :]]


def move_block(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    start, end = block_around(lines, at)
    rest = [*lines[:start], *lines[end:]]
    places = [n for n, one in enumerate(rest) if not one.text.strip() and abs(n - start) > 3] or [0]
    to = chance.choice(places)
    return [*rest[:to], *added(""), *lines[start:end], *rest[to:]]


def move_and_edit_beside(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    edited = reword_neighbours(lines, at, chance)
    return move_block(edited, at, chance)


def move_line(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    rest = [*lines[:at], *lines[at + 1 :]]
    to = max(0, min(len(rest), at + chance.choice((-7, -3, 3, 7))))
    return [*rest[:to], lines[at], *rest[to:]]


def swap_lines(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    return [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]


def reindent_block(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    start, end = block_around(lines, at)
    block = [one._replace(text=f"    {one.text}") for one in lines[start:end]]
    return [*lines[:start], *added("with context:"), *block, *lines[end:]]


def reindent_and_edit(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    moved = reindent_block(lines, at, chance)
    place = next(n for n, one in enumerate(moved) if one.number == at + 1)
    moved[place] = moved[place]._replace(text=reword(moved[place].text, chance))
    return moved


def reindent_and_move(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    start, end = block_around(lines, at)
    block = [one._replace(text=f"  {one.text}") for one in lines[start:end]]
    to = chance.choice((0, len(lines)))
    rest = [*lines[:start], *lines[end:]]
    return [*block, *added(""), *rest] if to == 0 else [*rest, *added(""), *block]


def reword_line(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    return [*lines[:at], lines[at]._replace(text=reword(lines[at].text, chance)), *lines[at + 1 :]]


def reword_and_insert(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    edited = reword_line(lines, at, chance)
    return [*edited[:at], *added("one more", "and another"), *edited[at:]]


def reword_neighbours(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    edited = list(lines)
    for one in (at - 1, at + 1):
        edited[one] = edited[one]._replace(text=reword(edited[one].text, chance))
    return edited


def reword_block(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    start, end = block_around(lines, at)
    return [
        one._replace(text=reword(one.text, chance)) if start <= n < end else one
        for n, one in enumerate(lines)
    ]


def rename_everywhere(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    words = _WORD.findall(lines[at].text) or ["return"]
    word = chance.choice(words)
    return [one._replace(text=re.sub(rf"\b{word}\b", f"{word}_renamed", one.text)) for one in lines]


def replace_line(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    return [*lines[:at], *added("@@@ 1234567890 %%%"), *lines[at + 1 :]]


def delete_line(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    return [*lines[:at], *lines[at + 1 :]]


def delete_block(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    start, end = block_around(lines, at)
    return [*lines[:start], *lines[end:]]


def copy_block_above(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    """A copy with other words before the block."""
    start, end = block_around(lines, at)
    copy = added(*(reword(one.text, chance) for one in lines[start:end]), "")
    return [*lines[:start], *copy, *lines[start:]]


def duplicate_line_above(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    """The same text ten lines earlier as well."""
    return [*lines[: at - 5], *added(lines[at].text), *lines[at - 5 :]]


def split_line(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    text = lines[at].text
    half = text.rfind(" ", 0, 2 * len(text) // 3 + 1)
    half = half if half > len(text) - len(text.lstrip()) else len(text)
    rest = added(f"    {text[half:].strip()}") if text[half:].strip() else []
    return [*lines[:at], lines[at]._replace(text=text[:half]), *rest, *lines[at + 1 :]]


def rewrite_order(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    """All blocks in another order."""
    blocks, current = [], list[Line]()
    for one in lines:
        current.append(one)
        if not one.text.strip():
            blocks, current = [*blocks, current], []
    chance.shuffle(blocks)
    return [one for block in [*blocks, current] for one in block]


def rewrite_text(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    """Most lines reworded, some deleted and added."""
    made: list[Line] = []
    for n, one in enumerate(lines):
        dice = chance.random()
        if n != at and dice < 0.1:
            continue
        made.append(one._replace(text=reword(one.text, chance)) if n != at and dice < 0.7 else one)
        if dice > 0.9:
            made += added(f"added line {n}")
    return made


def requote(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    """A formatter: other quotation marks, and spaces at the end."""
    return [one._replace(text=one.text.replace('"', "'") + " ") for one in lines]


def many_edits(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    """Several edits one after the other, as in a long round."""
    for edit in chance.sample((insert_above, reword_neighbours, delete_above_now, reindent_now, copy_now), 3):
        place = next(n for n, one in enumerate(lines) if one.number == at + 1)
        lines = edit(lines, place, chance)
    return lines


def delete_above_now(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    return [*lines[: max(0, at - 8)], *lines[max(0, at - 6) :]]


def reindent_now(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    start, end = block_around(lines, at)
    block = [one._replace(text=f"    {one.text}") for one in lines[start:end]]
    return [*lines[:start], *added("if ready:"), *block, *lines[end:]]


def copy_now(lines: list[Line], at: int, chance: random.Random) -> list[Line]:
    start, end = other_block(lines, at, chance)
    to, _ = block_around(lines, at)
    return [*lines[:to], *added(*(one.text for one in lines[start:end]), ""), *lines[to:]]


EDITS: dict[str, Edit] = {
    one.__name__: one
    for one in (
        insert_above,
        insert_beside,
        delete_above,
        move_block,
        move_and_edit_beside,
        move_line,
        swap_lines,
        reindent_block,
        reindent_and_edit,
        reindent_and_move,
        reword_line,
        reword_and_insert,
        reword_neighbours,
        reword_block,
        rename_everywhere,
        replace_line,
        delete_line,
        delete_block,
        copy_block_above,
        duplicate_line_above,
        split_line,
        rewrite_order,
        rewrite_text,
        requote,
        many_edits,
    )
}

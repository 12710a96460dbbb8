"""Maps lines of a text to a later version of it, by the hunks of a diff and by the lines themselves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal, NamedTuple

Certainty = Literal["unchanged", "moved", "changed", "probably_changed", "deleted"]

_MIN_UNIQUE = 12  # characters of a line that is found by its text alone
_MIN_SIMILARITY = 0.5
_MAX_PAIRS = 2500  # of lines that are compared with each other
_MAX_COMPARED = 300  # characters of a line
_NEAR = 2  # lines beside those of a comment whose changes belong to it
_MAX_SHOWN = 40
_SLACK = 10  # lines that may have been added between two lines of a range
_CERTAIN = ("unchanged", "moved", "changed")


class Hunk(NamedTuple):
    """Lines that a diff replaces, counted from 1; with a count of 0 the start is the line before."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int

    @property
    def first_old(self) -> int:
        return self.old_start if self.old_count else self.old_start + 1

    @property
    def first_new(self) -> int:
        return self.new_start if self.new_count else self.new_start + 1

    @property
    def old_end(self) -> int:
        """The line after the replaced ones."""
        return self.first_old + self.old_count

    @property
    def new_end(self) -> int:
        return self.first_new + self.new_count


class MappedLine(NamedTuple):
    line: int  # 0: it is gone
    how: Certainty


class MappedRange(NamedTuple):
    line: int  # 0: the lines are gone
    end_line: int
    how: Certainty


class LineMap:
    """The lines of two versions of a text."""

    def __init__(self, old: Sequence[str], new: Sequence[str], hunks: Sequence[Hunk]) -> None:
        self.old = old
        self.new = new
        self.hunks = hunks
        self._starts = [hunk.first_old for hunk in hunks]

    def map_range(self, line: int, end_line: int) -> MappedRange:
        """Return where lines of the old text are in the new one; lines outside the old text are cut."""
        line = min(max(line, 1), len(self.old))
        end_line = min(max(end_line, line), len(self.old))
        if not self.old or not self.new:
            return MappedRange(0, 0, "deleted")
        found = [self.map_line(number) for number in range(line, end_line + 1)]
        if line == end_line:
            return MappedRange(found[0].line, found[0].line, found[0].how)
        return self._join(line, found)

    def find_hunk_place(self, line: int) -> int:
        """Return the line of the new text at which a line of the old text is, or was removed."""
        at = bisect_right(self._starts, line) - 1
        hunk = self.hunks[at] if at >= 0 else None
        if hunk is None:
            return line
        return hunk.first_new if line < hunk.old_end else line - hunk.old_end + hunk.new_end

    def list_changes(self, line: int, end_line: int) -> tuple[str, ...]:
        """Return the replaced and added lines at lines of the old text, each with its sign."""
        near = [
            hunk
            for hunk in self.hunks
            if hunk.first_old <= end_line + _NEAR and hunk.old_end >= line - _NEAR + (hunk.old_count > 0)
        ]
        shown: list[str] = []
        for number, hunk in enumerate(near):
            if number:
                between = self.old[near[number - 1].old_end - 1 : hunk.first_old - 1]
                shown += [f" {text}" for text in between]
            shown += self._list_hunk(hunk, line, end_line)
        return tuple(shown[:_MAX_SHOWN])

    def _list_hunk(self, hunk: Hunk, line: int, end_line: int) -> list[str]:
        """Return the lines of a hunk; of a long one those beside the lines of the old text."""
        first, last = hunk.first_old, hunk.old_end
        new_first, new_last = hunk.first_new, hunk.new_end
        if hunk.old_count + hunk.new_count > _MAX_SHOWN:
            found = self.map_range(line, end_line)
            first, last = max(first, line - _NEAR), min(last, end_line + _NEAR + 1)
            new_first = max(new_first, (found.line or new_first) - _NEAR)
            new_last = min(new_last, max(found.end_line, new_first) + _NEAR + 1)
        return [
            *(f"-{text}" for text in self.old[first - 1 : last - 1]),
            *(f"+{text}" for text in self.new[new_first - 1 : new_last - 1]),
        ]

    def map_line(self, line: int) -> MappedLine:
        """Return where one line of the old text is."""
        at = bisect_right(self._starts, line) - 1
        hunk = self.hunks[at] if at >= 0 else None
        if hunk is None:
            return MappedLine(line, "unchanged")
        if line >= hunk.old_end:
            return MappedLine(line - hunk.old_end + hunk.new_end, "unchanged")
        return self._find_same(line, hunk) or self._find_similar(line, hunk)

    def _find_same(self, line: int, hunk: Hunk) -> MappedLine | None:
        """Return the added line with the same text: by the lines around it, in the hunk, or by its text."""
        text = self._old_plain[line - 1]
        for radius in (2, 1):
            candidates = self._new_prints[radius].get(_fingerprint(self._old_plain, line, radius), ())
            if len(candidates) == 1 and self._is_only(line, radius):
                return self._same(line, candidates[0])
        if text:
            here = [one for one in range(hunk.first_new, hunk.new_end) if self._new_plain[one - 1] == text]
            if here:
                return self._same(line, min(here, key=lambda one: self._distance(line, one, hunk)))
        if len(text) >= _MIN_UNIQUE:
            candidates = self._new_prints[0].get((text,), ())
            if len(candidates) == 1 and self._is_only(line, 0):
                return self._same(line, candidates[0])
        near = [one for one in self._new_prints[0].get((text,), ()) if abs(one - hunk.first_new) <= _SLACK]
        return self._same(line, near[0]) if text and len(near) == 1 else None

    def _find_similar(self, line: int, hunk: Hunk) -> MappedLine:
        """Return the added line of the hunk that is most like this one, or the place of the hunk."""
        if not hunk.new_count:
            return MappedLine(0, "deleted")
        taken = self._taken_lines(hunk)
        free = [one for one in range(hunk.first_new, hunk.new_end) if one not in taken]
        if not free:
            return MappedLine(0, "deleted")
        first, text = hunk.first_old, self._old_plain[line - 1][:_MAX_COMPARED]
        expected = hunk.first_new + (line - first) * hunk.new_count // max(hunk.old_count, 1)
        free.sort(key=lambda one: abs(one - expected))
        best, best_ratio = 0, _MIN_SIMILARITY
        for one in free[:_MAX_PAIRS]:
            ratio = _compare(text, self._new_plain[one - 1][:_MAX_COMPARED], best_ratio)
            if ratio > best_ratio or (not best and ratio >= best_ratio):
                best, best_ratio = one, ratio
        return MappedLine(best or min(max(expected, 1), len(self.new)), "probably_changed")

    def _taken_lines(self, hunk: Hunk) -> frozenset[int]:
        """Return the added lines of the hunk that have the same text as another replaced line."""
        texts = {self._old_plain[one - 1] for one in range(hunk.first_old, hunk.old_end)}
        return frozenset(
            one for one in range(hunk.first_new, hunk.new_end) if self._new_plain[one - 1] in texts
        )

    def _same(self, line: int, found: int) -> MappedLine:
        is_equal = self.old[line - 1] == self.new[found - 1]
        return MappedLine(found, "moved" if is_equal else "changed")

    def _is_only(self, line: int, radius: int) -> bool:
        return len(self._old_prints[radius].get(_fingerprint(self._old_plain, line, radius), ())) == 1

    def _distance(self, line: int, found: int, hunk: Hunk) -> float:
        """Return how far a line is from the same relative place in the hunk."""
        return abs(
            (line - hunk.first_old) / max(hunk.old_count, 1) - (found - hunk.first_new) / hunk.new_count
        )

    def _join(self, line: int, found: list[MappedLine]) -> MappedRange:
        """Return one range for the lines of a range: where most of the lines are together."""
        places = [(line + n, one.line) for n, one in enumerate(found) if one.line]
        certain = [(line + n, one.line) for n, one in enumerate(found) if one.how in _CERTAIN]
        if not places:
            return MappedRange(0, 0, "deleted")
        block = _largest_block(certain or places)
        (first, start), (last, end) = block[0], block[-1]
        # Lines before and after the block may have been replaced by others beside it.
        start = min([start, *(new for old, new in places if old < first and 0 < start - new <= _SLACK)])
        end = max([end, *(new for old, new in places if old > last and 0 < new - end <= _SLACK)])
        kinds = {one.how for one in found}
        if kinds <= {"unchanged", "moved"} and end - start == len(found) - 1 == len(block) - 1:
            return MappedRange(start, end, "moved" if "moved" in kinds else "unchanged")
        is_sure = 2 * len(block) >= len(found) and bool(certain)
        return MappedRange(start, end, "changed" if is_sure else "probably_changed")

    @cached_property
    def _old_plain(self) -> list[str]:
        return [_plain(text) for text in self.old]

    @cached_property
    def _new_plain(self) -> list[str]:
        return [_plain(text) for text in self.new]

    @cached_property
    def _old_prints(self) -> dict[int, dict[tuple[str, ...], list[int]]]:
        lines = [one for hunk in self.hunks for one in range(hunk.first_old, hunk.old_end)]
        return {radius: _index(self._old_plain, lines, radius) for radius in (0, 1, 2)}

    @cached_property
    def _new_prints(self) -> dict[int, dict[tuple[str, ...], list[int]]]:
        # Only added lines: every other one is the place of another line.
        lines = [one for hunk in self.hunks for one in range(hunk.first_new, hunk.new_end)]
        return {radius: _index(self._new_plain, lines, radius) for radius in (0, 1, 2)}


def _largest_block(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest run of places that follow each other in both versions."""
    blocks = [[places[0]]]
    for old, new in places[1:]:
        last_old, last_new = blocks[-1][-1]
        if 0 < new - last_new <= old - last_old + _SLACK:
            blocks[-1].append((old, new))
        else:
            blocks.append([(old, new)])
    return max(blocks, key=len)


def _plain(text: str) -> str:
    return "".join(text.split())


def _fingerprint(plain: list[str], line: int, radius: int) -> tuple[str, ...]:
    """Return the lines around a line; a zero character marks the ends of the text."""
    return tuple(
        plain[one] if 0 <= one < len(plain) else "\0" for one in range(line - 1 - radius, line + radius)
    )


def _index(plain: list[str], lines: list[int], radius: int) -> dict[tuple[str, ...], list[int]]:
    found: dict[tuple[str, ...], list[int]] = {}
    for line in lines:
        found.setdefault(_fingerprint(plain, line, radius), []).append(line)
    return found


def _compare(one: str, other: str, least: float) -> float:
    """Return how similar two lines are, from 0 to 1; 0 if it is less than `least`."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
        return 0.0
    return matcher.ratio()

"""Finds secrets in text: by their form, and the registered ones by their value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ostler.secrets.encodings import map_squeezed, squeeze
from ostler.secrets.registry import SECRETS, KnownSecrets
from ostler.secrets.rules import (
    LOOSE_KEYWORDS,
    MIN_RUN,
    RUN_CHARACTERS,
    compiled_form,
    keyword_search,
    rule_of,
    rules_for,
)

_IN_RUN, _BREAK = b"x", b" "
_LONG_RUN = _IN_RUN * MIN_RUN
_CLASSES = bytes(_IN_RUN[0] if byte in RUN_CHARACTERS else _BREAK[0] for byte in range(256))


class Found(NamedTuple):
    """The place and the kind of a secret; never its value."""

    start: int
    end: int
    kind: str
    refused_in_commits: bool = True


def find_secrets(data: bytes, start: int = 0) -> list[Found]:
    """Return the secrets in the text from an offset on, in order and without overlaps."""
    found = [*_find_known(data, start), *find_forms(data, start)]
    return _merge(found) if len(found) > 1 else found


def find_forms(data: bytes, start: int = 0) -> Iterator[Found]:
    """Yield what has the form of a secret."""
    for word in LOOSE_KEYWORDS:
        at = data.find(word, start)
        while at >= 0:
            yield from _match_forms(data, at, word)
            at = data.find(word, at + 1)
    # Much faster than a search for the keywords: ordinary text has few words of this length.
    classes = data.translate(_CLASSES)
    run = classes.find(_LONG_RUN, start)
    while run >= 0:
        end = classes.find(_BREAK, run + MIN_RUN)
        yield from _find_in_run(data, run, end if end >= 0 else len(data))
        run = classes.find(_LONG_RUN, end) if end >= 0 else -1


def _find_in_run(data: bytes, start: int, end: int) -> Iterator[Found]:
    search = keyword_search().search
    hit = search(data, start, end)
    while hit is not None:
        found = _match_forms(data, hit.start(), hit[0])
        yield from found
        hit = search(data, max([hit.start() + 1, *(one.end for one in found)]), end)


def _match_forms(data: bytes, start: int, keyword: bytes) -> list[Found]:
    for word in rules_for(keyword):
        match = compiled_form(word).match(data, start)
        if match is not None:
            group = "secret" if "secret" in match.re.groupindex else 0
            rule = rule_of(word)
            return [Found(*match.span(group), rule.kind, rule.refused_in_commits)]
    return []


def _find_known(data: bytes, start: int) -> Iterator[Found]:
    known = SECRETS.known()
    if not known.needles:
        return
    text = data[start:] if start else data
    yield from (
        Found(at + start, at + start + len(needle.form), needle.kind)
        for needle in known.needles
        if needle.form in text
        for at in _find_all(text, needle.form)
    )
    yield from (Found(one.start + start, one.end + start, one.kind) for one in _find_split(text, known))


def _find_split(text: bytes, known: KnownSecrets) -> Iterator[Found]:
    """Yield the secrets that contain spaces or line breaks which are not theirs."""
    dense = squeeze(text)
    if len(dense) == len(text):
        return
    hits = [needle for needle in known.needles if needle.dense in dense]
    offsets = map_squeezed(text) if hits else []
    for needle in hits:
        for at in _find_all(dense, needle.dense):
            yield Found(offsets[at], offsets[at + len(needle.dense) - 1] + 1, needle.kind)


def _find_all(data: bytes, form: bytes) -> Iterator[int]:
    at = data.find(form)
    while at >= 0:
        yield at
        at = data.find(form, at + len(form))


def _merge(found: list[Found]) -> list[Found]:
    """Return one entry for all that overlap, with the kind of the first and longest one."""
    merged: list[Found] = []
    for one in sorted(found, key=lambda each: (each.start, -each.end)):
        if merged and one.start < merged[-1].end:
            last = merged[-1]
            refused = last.refused_in_commits or one.refused_in_commits
            merged[-1] = Found(last.start, max(last.end, one.end), last.kind, refused)
        else:
            merged.append(one)
    return merged

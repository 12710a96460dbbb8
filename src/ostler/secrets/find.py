"""Finds secrets in text: by their form, and the registered ones by their value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ostler.secrets.encodings import SqueezedOffsets, squeeze
from ostler.secrets.examples import is_example
from ostler.secrets.key_lines import OpenKey, find_key_lines
from ostler.secrets.private_key import KEY_WORD
from ostler.secrets.registry import SECRETS, KnownSecrets
from ostler.secrets.rules import (
    LOOSE_PARTS,
    MIN_RUN,
    PRIVATE_KEY,
    RUN_CHARACTERS,
    can_start,
    compiled_form,
    keyword_search,
    rule_of,
    rules_for,
)

_IN_RUN, _BREAK = b"x", b" "
# The repeated letter is a literal prefix, which the search finds faster than any set of letters.
_LONG_RUN = re.compile(_IN_RUN * MIN_RUN + b"x*+")
_CLASSES = bytes(_IN_RUN[0] if byte in RUN_CHARACTERS else _BREAK[0] for byte in range(256))


class Found(NamedTuple):
    """The place and the kind of a secret; never its value."""

    start: int
    end: int
    kind: str
    refused_in_commits: bool = True
    is_registered: bool = False
    prefix: int = 0  # bytes before the secret without which it is not found, such as "Bearer "

    @property
    def match_start(self) -> int:
        return self.start - self.prefix


def find_secrets(data: bytes, start: int = 0, opened: OpenKey | None = None) -> list[Found]:
    """Return the secrets in the text from an offset on, in order and without overlaps."""
    has_key = data.find(KEY_WORD, start) >= 0
    found = [*_find_known(data, start), *find_forms(data, start, has_key=has_key)]
    if has_key or opened is not None:
        lines = find_key_lines(data, start, len(data), opened).spans
        found += [Found(*span, PRIVATE_KEY) for span in lines]
    return _merge(found) if len(found) > 1 else found


def find_forms(data: bytes, start: int = 0, *, has_key: bool = True) -> Iterator[Found]:
    """Yield what has the form of a secret; `has_key`: whether the text may have the word of a private key."""
    for part, keywords in LOOSE_PARTS.items():
        at = data.find(part, start) if has_key or part != KEY_WORD else -1
        while at >= 0:
            for word, offset in keywords:
                if at - offset >= start and data.startswith(word, at - offset):
                    yield from _match_forms(data, at - offset, word)
            at = data.find(part, at + 1)
    # Much faster than a search for the keywords: ordinary text has few words of this length, and the lines of
    # an agent repeat most of them, such as the id of the session.
    runs = _list_runs(data, start)
    if runs and keyword_search().search(b"\n".join({data[run:end] for run, end in runs})):
        for run, end in runs:
            yield from _find_in_run(data, run, end)


def _list_runs(data: bytes, start: int) -> list[tuple[int, int]]:
    return [run.span() for run in _LONG_RUN.finditer(data.translate(_CLASSES), start)]


def _find_in_run(data: bytes, start: int, end: int) -> Iterator[Found]:
    search = keyword_search().search
    hit = search(data, start, end)
    while hit is not None:
        found = _match_forms(data, hit.start(), hit[0])
        yield from found
        hit = search(data, max([hit.start() + 1, *(one.end for one in found)]), end)


def _match_forms(data: bytes, start: int, keyword: bytes) -> list[Found]:
    for word in rules_for(keyword):
        rule = rule_of(word)
        match = compiled_form(word).match(data, start) if can_start(rule, data, start) else None
        if match is not None and not is_example(rule.kind, match):
            first, end = match.span("secret" if "secret" in match.re.groupindex else 0)
            return [Found(first, end, rule.kind, rule.refused_in_commits, prefix=first - start)]
    return []


def _find_known(data: bytes, start: int) -> Iterator[Found]:
    known = SECRETS.known()
    if not known.needles:
        return
    text = data[start:] if start else data
    yield from (
        Found(at + start, at + start + len(needle.form), needle.kind, is_registered=True)
        for needle in known.needles
        if needle.form in text
        for at in _find_all(text, needle.form)
    )
    yield from (
        Found(first + start, end + start, kind, is_registered=True)
        for first, end, kind in _find_split(text, known)
    )


def _find_split(text: bytes, known: KnownSecrets) -> Iterator[tuple[int, int, str]]:
    """Yield the places and kinds of the secrets that contain spaces or line breaks which are not theirs."""
    dense = squeeze(text)
    if len(dense) == len(text):
        return
    hits = [needle for needle in known.needles if needle.dense in dense]
    if not hits:
        return
    offsets = SqueezedOffsets(text)
    for needle in hits:
        for at in _find_all(dense, needle.dense):
            yield offsets[at], offsets[at + len(needle.dense) - 1] + 1, needle.kind


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
            merged[-1] = last._replace(
                end=max(last.end, one.end),
                refused_in_commits=last.refused_in_commits or one.refused_in_commits,
                is_registered=last.is_registered or one.is_registered,
                prefix=max(last.prefix, last.start - one.match_start),
            )
        else:
            merged.append(one)
    return merged

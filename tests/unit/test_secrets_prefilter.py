"""What skips a part of the search for secrets never skips what the whole search finds."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ostler.secrets.examples import is_example
from ostler.secrets.find import find_forms, find_secrets
from ostler.secrets.private_key import KEY_WORD
from ostler.secrets.rules import (
    LOOSE_KEYWORDS,
    LOOSE_PARTS,
    MIN_RUN,
    RUN_CHARACTERS,
    can_start,
    compiled_form,
    keyword_search,
    rule_of,
    rules_for,
)
from ostler.secrets.stream import RedactingStream

KEY = b"A1b2C3d4" * 5  # 40 characters of base64
BODY = b"MIIEpAIBAAKCAQEA7bq98Zu3nVxkP0aW5tGd1fJYkQ2mHs4RcLeNwTzO6yXu8Bv"
PIECES = [
    *LOOSE_KEYWORDS,
    *LOOSE_PARTS,
    *(b"user:", b"hunter22@", b"host", b"ghp_" + KEY, b"eyJ", b"-----BEGIN RSA PRIVATE KEY-----", BODY),
    *(KEY, KEY[:19], KEY[:20], b'"', b"'", b"\\", b"\n", b"\\n", b" ", b"\f", b"\v", b":", b"=", b"<", b"`"),
    *(b"authorization: ", b"TOKEN", b"flyv1", b"Basic", b"x" * 60, b" " * 13, b"}\n", b"-----END", b"s"),
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
RUN = re.compile(b"[" + re.escape(RUN_CHARACTERS) + b"]{%d,}" % MIN_RUN)
UNFINISHED = re.compile(
    rb"(?i:(?:authorization:\s*)?(?:bearer|basic|token)|authorization:|flyv1"
    rb"|aws_secret_(?:access_)?key|secretaccesskey)"
    rb"[\s\"'\\:=>|]{0,12}[^\s\"'<>`]*\Z"
)


def list_places(data: bytes, start: int) -> set[int]:
    """Return where a form starts: every keyword is searched everywhere, one after the other."""
    runs = [found.span() for found in RUN.finditer(data, start)]
    hits = [(at, word) for word in LOOSE_KEYWORDS for at in list_all(data, word, start)]
    for first, end in runs:
        hits += [(at, hit[0]) for at in range(first, end) if (hit := keyword_search().match(data, at, end))]
    return {at for at, word in hits if is_form(data, at, rules_for(word))}


def list_all(data: bytes, word: bytes, start: int) -> Iterable[int]:
    return (at for at in range(start, len(data)) if data.startswith(word, at))


def is_form(data: bytes, at: int, words: list[bytes]) -> bool:
    """Return whether one of the keywords starts a form here, and the text is no well-known example."""
    for word in words:
        match = compiled_form(word).match(data, at) if can_start(rule_of(word), data, at) else None
        if match is not None and not is_example(rule_of(word).kind, match):
            return True
    return False


@settings(max_examples=300)
@given(TEXTS, st.integers(0, 40))
@example(b'"AWS_SECRET_ACCESS_KEY": "' + KEY + b'"', 0)
@example(b"x Authorization: token " + KEY, 0)
@example(b"bearer " + KEY, 1)
def test_each_form_is_found(data: bytes, start: int) -> None:
    """Keywords with a common part share one search, and what overlaps another secret is part of it."""
    places = list_places(data, start)
    found = [*find_forms(data, start)]
    assert {one.match_start for one in found} <= places
    assert all(any(one.match_start <= at < one.end for one in found) for at in places)


@settings(max_examples=300)
@given(TEXTS)
def test_a_private_key_needs_its_first_word(data: bytes) -> None:
    """A text without the word is searched neither for the form nor for lines of a key."""
    assert any(one.kind == "private-key" for one in find_secrets(data)) <= (KEY_WORD in data)
    without = [one for one in find_forms(data) if one.kind != "private-key"]
    assert [one for one in find_forms(data, has_key=False) if one.kind != "private-key"] == without


@settings(max_examples=300)
@given(TEXTS)
@example(b"Authorization: " + b" " * 13)
@example(b'"token" : \n' + b"x" * 200)
@example(b"x" * 300 + b"aws_secret_access_key" + b" " * 12)
def test_an_end_that_may_continue_is_held_back(data: bytes) -> None:
    """The cheap test before the expression for forms with spaces lets every end of one through."""
    stream = RedactingStream()
    stream.feed(data)
    found = UNFINISHED.search(data, max(0, len(data) - 256))
    assert stream.held >= (len(data) - found.start() if found else 0)

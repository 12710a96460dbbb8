"""The form of a private key in PEM or PGP armor: whole, cut off, in JSON, and in one line.

Every repetition is possessive or bounded: the text is written by agents, and a match takes linear time.
"""

from __future__ import annotations

import re
from functools import cache

_SPACE = r"(?: |\+|%20)"  # also in a URL
_HEADER = rf"-----BEGIN{_SPACE}(?:[A-Z0-9]{{1,20}}+{_SPACE}){{0,5}}?PRIVATE{_SPACE}KEY(?:{_SPACE}BLOCK)?-----"
_END = r"-----END [A-Z0-9 ]*+-----"
_BREAK = r"[ \t]*+(?:\r?\n|\r|\\++(?:r\\++n|[rn]))"
_INDENT = r"(?:[+* \t-]|\\++t)*+"  # also the marks of a diff
_BASE64 = "[A-Za-z0-9+/=]"
_LINE_END = rf"(?={_BREAK}|[\"'`<]|-----END|\Z)"
_SHORT_LINE = rf"{_BASE64}{{1,15}}+{_LINE_END}"
_LINE = rf"{_INDENT}(?:{_BASE64}{{16,}}+|(?![A-Z]?[a-z]{{1,15}}+{_LINE_END}){_SHORT_LINE})"  # not a word
_FIELD = rf"{_INDENT}[A-Za-z][A-Za-z0-9-]{{0,40}}+: [A-Za-z0-9+/= :,.()@*-]{{0,200}}+"
# A text that only mentions the header continues in its line. In quotes, a key may follow in more strings.
_STARTS = rf"(?={_BREAK}|\Z|\\*+[\"']|[ \t]*+{_BASE64}{{16}})"
_UP_TO_END = rf"(?:[A-Za-z0-9+/=\s:,.()@*]|-(?!----)|-(?=-----END )|\\++[nrt])*+{_END}"
_FIELDS = rf"(?:(?:{_BREAK}{_FIELD})++(?=(?:{_BREAK})++{_LINE}))?"
_LINES = rf"(?:(?:(?:{_BREAK})*+{_LINE})++(?:(?:{_BREAK})?{_INDENT}{_SHORT_LINE})?)?"
_REST = r"(?:(?:[\s+*-]|\\++[nrt]?)*+\Z)?"

WHOLE_KEY = rf"{_HEADER}{_STARTS}(?:{_UP_TO_END}|{_FIELDS}{_LINES}{_REST})"
"""Up to the last line; without one, as far as the lines are base64."""
KEY_WORD = b"-----BEGIN"
KEY_END = re.compile(_END.encode())


@cache
def key_header() -> re.Pattern[bytes]:
    """Return the form of the first line of a private key."""
    return re.compile(_HEADER.encode())


@cache
def key_start() -> re.Pattern[bytes]:
    """Return the form of the first line of a private key, or of a part of it at the end of the text."""
    return re.compile(f"(?P<line>{_HEADER})|-----BEGIN(?:[ +%][A-Z0-9 %+-]{{0,80}}+)?\\Z".encode())


@cache
def key_body() -> re.Pattern[bytes]:
    """Return everything that may follow in a private key whose last line was not read yet."""
    return re.compile(rb"(?:[A-Za-z0-9+/=\s:,.()@*-]|\\++[nrt]?)*+")


@cache
def key_rest() -> re.Pattern[bytes]:
    """Return what continues a private key from anywhere inside of it, up to and including its last line."""
    parts = rf"{_BASE64}{{16,}}+|{_SHORT_LINE}|[\s+*]|-(?!----)|-(?=-----END )|\\++(?:[nrt]|\Z)"
    return re.compile(f"(?:{parts})*+(?P<end>{_END})?".encode())

"""Makes a text of each kind of secret from its rule."""

from __future__ import annotations

import base64
import re._constants as ops  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from itertools import count
from typing import Any

from ostler.secrets.rules import PRIVATE_KEY, RULES, Rule

_PREFERRED = "aB3dE5fG7hJ9kLmNpQrStUvWxYz0124680ACDFbce.-_="
_BEFORE = {"azure-client-secret": "aB3", "telegram-token": "123456789"}
_AFTER = {"url-password": "db.example/app"}
_BODIES = {"Basic ": base64.b64encode(b"ada:pa55w0rd-x9Z1").decode()}
_KEY = "-----BEGIN {0}-----\nMIIEpAIBAAKCAQEA1c7\nqk3+/Zw==\n-----END {0}-----"


def list_samples() -> list[tuple[str, str]]:
    """Return kind and text for each keyword of each rule."""
    found = [(rule.kind, make_sample(rule, word)) for rule in RULES for word in rule.keywords]
    return [one for one in found if one[0] != PRIVATE_KEY] + [
        (PRIVATE_KEY, _KEY.format(name))
        for name in ("PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK")
    ]


def make_sample(rule: Rule, keyword: str) -> str:
    """Return a text that has the form of a rule."""
    body = "" if rule.kind == PRIVATE_KEY else _BODIES.get(keyword) or _make(parser.parse(rule.form), count())
    return f"{_BEFORE.get(rule.kind, '')}{keyword}{body}{_AFTER.get(rule.kind, '')}"


def _make(tree: Any, steps: count[int]) -> str:
    return "".join(_make_one(kind, value, steps) for kind, value in tree)


def _make_one(kind: Any, value: Any, steps: count[int]) -> str:
    if kind is ops.LITERAL:
        return chr(value)
    if kind is ops.IN:
        return _choose(value, steps)
    if kind in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        return "".join(_make(value[2], steps) for _ in range(max(value[0], min(value[1], 1))))
    if kind is ops.SUBPATTERN:
        return _make(value[3], steps)
    if kind is ops.BRANCH:
        return _make(value[1][0], steps)
    return ""  # conditions


def _choose(members: Any, steps: count[int]) -> str:
    allowed = [letter for letter in _PREFERRED if _allows(members, letter)] or ["="]
    return allowed[next(steps) % len(allowed)]


def _allows(members: Any, letter: str) -> bool:
    negated, found = False, False
    for kind, value in members:
        negated = negated or kind is ops.NEGATE
        found = found or (kind is ops.LITERAL and value == ord(letter))
        found = found or (kind is ops.RANGE and value[0] <= ord(letter) <= value[1])
        found = found or (kind is ops.CATEGORY and value is ops.CATEGORY_DIGIT and letter.isdigit())
    return found != negated

"""Signatures of failures."""

from __future__ import annotations

import re
import time

import pytest

from ostler.engine.steps.gates.signature import compute_signature

FAILURE = """\
============================= test session starts ==============================
platform linux -- Python 3.11.2, pytest-8.2.0
rootdir: /tmp/ostler-gate-0123456789abcdef/project
tests/test_login.py F..                                                  [100%]
>       assert login("ada") == 302
E       AssertionError: assert 200 == 302
tests/test_login.py:12: AssertionError
=========================== 1 failed, 2 passed in 0.03s ========================
"""

SAME = {
    "another time": FAILURE.replace("0.03s", "12.50s"),
    "another place": FAILURE.replace(
        "/tmp/ostler-gate-0123456789abcdef", "/var/tmp/ostler-gate-ffff56789abcdef0"
    ),
    "other figures": FAILURE.replace("test_login.py:12", "test_login.py:14"),
    "other rules": FAILURE.replace("=====", "===="),
    "colours": FAILURE.replace("E       Assertion", "\x1b[1m\x1b[31mE       Assertion\x1b[0m"),
    "another order": "\n".join(reversed(FAILURE.splitlines())),
    "other white space": FAILURE.replace("E       A", "E   A").replace("\n", "\r\n"),
}
OTHER = {
    "another exception": FAILURE.replace("AssertionError", "TypeError"),
    "another assertion": FAILURE.replace('login("ada")', 'logout("ada")'),
    "nothing": "",
}


def test_a_signature_is_sixteen_digits() -> None:
    """A signature has sixteen hexadecimal digits."""
    assert re.fullmatch("[0-9a-f]{16}", compute_signature(FAILURE))


@pytest.mark.parametrize("how", SAME)
def test_the_same_failure_has_the_same_signature(how: str) -> None:
    """Time, path and order do not change the signature."""
    assert compute_signature(SAME[how]) == compute_signature(FAILURE)


@pytest.mark.parametrize("how", OTHER)
def test_another_failure_has_another_signature(how: str) -> None:
    """Different errors have different signatures."""
    assert compute_signature(OTHER[how]) != compute_signature(FAILURE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 0x7f3a2b1c", "at 0xdeadbeef"),
        ("commit 3f2a91c0de", "commit 91c0de3f2a"),
        ("id 0b8f1c52-3d4e-4f5a-8b9c-0d1e2f3a4b5c", "id 1b8f1c52-3d4e-4f5a-8b9c-0d1e2f3a4b5c"),
        ("2026-11-15T12:00:01.123Z failed", "2027-01-02T03:04:05.999Z failed"),
        ("took 12 ms", "took 7 ms"),
        ("rm /tmp/tmpq8x_1a failed", "rm /tmp/tmpzz01b2 failed"),
        (r"C:\Users\ada\x.py failed", r"D:\work\x.py failed"),
    ],
)
def test_what_changes_by_itself_does_not_count(one: str, other: str) -> None:
    """Addresses, hashes, times, numbers and paths are ignored."""
    assert compute_signature(one) == compute_signature(other)


@pytest.mark.parametrize(
    "text", ["/" * 200_000, "a/" * 100_000, "a" * 200_000, "-" * 200_000, "\x1b[" * 100_000]
)
def test_a_long_line_takes_no_longer_than_it_is_long(text: str) -> None:
    """The computation takes linear time."""
    began = time.monotonic()
    compute_signature(text)
    assert time.monotonic() - began < 10


def test_only_the_end_counts() -> None:
    """Additional output before the failure does not change the signature."""
    end = "x\n" * 250 + FAILURE
    assert compute_signature("once upon a time\n" * 3 + end) == compute_signature(end)

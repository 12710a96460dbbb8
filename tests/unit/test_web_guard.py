"""Which requests the server accepts."""

from __future__ import annotations

import pytest

from ostler.web.guard import KEY_SECONDS, Keys


def test_the_secret_has_256_bits_and_is_never_the_same() -> None:
    """43 letters of 64, random for each server."""
    made = {Keys(1).token for _ in range(50)}
    assert len(made) == 50
    assert {len(token) for token in made} == {43}


def test_a_key_opens_once_and_not_for_ever() -> None:
    """The first use consumes it, and it expires."""
    now = 0.0
    keys = Keys(1, lambda: now)
    first, second = keys.create_key(), keys.create_key()
    assert keys.redeem(first)
    assert not keys.redeem(first)
    now = KEY_SECONDS
    assert not keys.redeem(second)
    assert not keys.redeem("")


@pytest.mark.parametrize(
    ("cookies", "authorization", "opens"),
    [
        ("ostler-8={token}", "", True),
        ("a=b; ostler-8={token}; c=d", "", True),
        ("ostler-8=x; ostler-8={token}", "", True),
        ("", "Bearer {token}", True),
        ("", "bearer {token}", True),
        ("ostler-9={token}", "", False),
        ("ostler-8={token}x", "", False),
        ("ostler-8=", "", False),
        ("", "Basic {token}", False),
        ("", "{token}", False),
        ("", "Bearer ", False),
        ("ostler-8=\udcff\xe9", "Bearer \udcff", False),
        ("", "", False),
    ],
)
def test_what_opens(cookies: str, authorization: str, opens: bool) -> None:
    """The whole secret, in the cookie of this port or as a bearer token."""
    keys = Keys(8)
    given = [text.replace("{token}", keys.token) for text in (cookies, authorization)]
    assert keys.is_authorized(*given) is opens

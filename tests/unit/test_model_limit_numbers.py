"""Numbers of providers: nothing raises, and only values that can be true are kept."""

from __future__ import annotations

import math

import pytest

from ostler.model.limits.numbers import read_length, read_share, read_time

NOW, DAY = 1_794_775_650.0, 86_400.0
ABSURD = [math.nan, math.inf, -math.inf, 1e307, -1e307, 10**400, -(10**400), -1.0]


@pytest.mark.parametrize("value", ABSURD)
def test_an_absurd_number_is_none(value: float) -> None:
    assert (read_time(value, NOW), read_share(value), read_length(value)) == (None, None, None)


def test_values_that_can_be_true() -> None:
    assert (read_share(0), read_share(10), read_share(10.1)) == (0, 10, None)
    assert (read_length(60), read_length(366 * DAY), read_length(59), read_length(367 * DAY)) == (
        *(60, 366 * DAY),
        *(None, None),
    )
    assert read_time((NOW + 5) * 1000, NOW) == NOW + 5
    assert (read_time(NOW - 367 * DAY, NOW), read_time(NOW + 367 * DAY, NOW)) == (None, None)

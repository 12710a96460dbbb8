"""Limits in the headers of model APIs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.errors import Code
from ostler.llm.failure import classify_rejection, make_error, read_rejection
from ostler.llm.limits import find_retry_after, read_limit_headers
from ostler.model.limits.names import find_family, name_length
from ostler.model.limits.window import ReportedWindow

NOW = 1794775650.0
FIVE, WEEK = 5 * 3600.0, 7 * 86_400.0
UNIFIED = "anthropic-ratelimit-unified"


def unified(**values: str) -> dict[str, str]:
    return {f"{UNIFIED}-{name.replace('_', '-')}": value for name, value in values.items()}


SUBSCRIPTION = {
    **unified(status="allowed_warning", reset="1794790050", representative_claim="five_hour"),
    f"{UNIFIED}-5h-utilization": "0.93",
    f"{UNIFIED}-5h-reset": "1794790050",
    f"{UNIFIED}-5h-status": "allowed_warning",
    f"{UNIFIED}-7d-utilization": "0.42",
    f"{UNIFIED}-7d-reset": "1795207650",
    f"{UNIFIED}-7d-status": "allowed",
}


def test_a_subscription_has_its_windows() -> None:
    """The windows, their use and their reset; the window of a model has its family."""
    five = ReportedWindow("five_hour", 0.93, 1794790050.0, "warning", FIVE, source="header")
    week = ReportedWindow("seven_day", 0.42, 1795207650.0, "allowed", WEEK, source="header")
    assert read_limit_headers(SUBSCRIPTION, NOW) == (five, week)
    opus = {**SUBSCRIPTION, f"{UNIFIED}-7d_opus-utilization": "1", f"{UNIFIED}-7d_opus-status": "rejected"}
    assert read_limit_headers(opus, NOW)[2] == ReportedWindow(
        "seven_day_opus", 1.0, None, "rejected", WEEK, "opus", "header"
    )


def test_extra_usage_continues() -> None:
    """A rejected window with allowed extra usage has a warning."""
    paid = {
        **SUBSCRIPTION,
        **unified(status="rejected", overage_status="allowed", overage_reset="1795207650"),
    }
    assert [(one.name, one.status) for one in read_limit_headers(paid, NOW)] == [
        ("five_hour", "warning"),
        ("seven_day", "allowed"),
        ("overage", "allowed"),
    ]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (
            {
                "anthropic-ratelimit-requests-limit": "50",
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-11-15T20:48:00Z",
                "anthropic-ratelimit-input-tokens-limit": "1000",
                "anthropic-ratelimit-input-tokens-remaining": "250",
            },
            (("requests", 1.0, NOW + 30, "rejected", 60.0), ("input_tokens", 0.75, None, "allowed", 60.0)),
        ),
        (
            {
                "x-ratelimit-limit-requests": "100",
                "x-ratelimit-remaining-requests": "75",
                "x-ratelimit-reset-requests": "6m0s",
                "x-ratelimit-limit-tokens": "0",
                "x-ratelimit-remaining-tokens": "many",
                "x-ratelimit-reset-tokens": "20ms",
            },
            (("requests", 0.25, NOW + 360, "allowed", None), ("tokens", None, NOW + 0.02, "allowed", None)),
        ),
    ],
)
def test_a_key_has_its_counts(headers: dict[str, str], expected: tuple[tuple[object, ...], ...]) -> None:
    """Requests and tokens: what is used follows from what remains."""
    windows = read_limit_headers(headers, NOW, rejected=True)
    assert tuple((one.name, one.used, one.resets_at, one.status, one.seconds) for one in windows) == expected


def test_a_rejection_by_a_window_is_a_quota() -> None:
    """By the status of the subscription, or by the name of the error; a count is a rate limit."""
    status = {f"{UNIFIED}-5h-status": "rejected", **unified(status="rejected")}
    rejected = read_limit_headers({**SUBSCRIPTION, **status}, NOW, rejected=True)
    assert classify_rejection(read_rejection(429, b"", None, rejected)) is Code.QUOTA_EXCEEDED
    counts = {"x-ratelimit-limit-requests": "9", "x-ratelimit-remaining-requests": "0"}
    limited = read_limit_headers(counts, NOW, rejected=True)
    assert classify_rejection(read_rejection(429, b"", None, limited)) is Code.RATE_LIMITED


@pytest.mark.parametrize(
    ("members", "seconds"),
    [
        (b'"resets_in_seconds":13975', 13_975.0),
        (b'"resets_at":1794789625', 13_975.0),
        (b'"resets_at":"soon"', None),
        (b'"resets_in_seconds":null', None),
        (b'"resets_in_seconds":1' + b"0" * 400, None),
        (b'"resets_at":1' + b"0" * 400, None),
        (b'"resets_at":2794789625', None),
    ],
)
def test_a_usage_limit_has_its_time_in_the_body(members: bytes, seconds: float | None) -> None:
    """ChatGPT: usage_limit_reached with the time of the reset."""
    body = b'{"error":{"type":"usage_limit_reached","message":"limit",%b}}' % members
    error = make_error(read_rejection(429, body, now=lambda: NOW), "host", lambda: NOW)
    assert (error.code, error.retry_after_seconds) == (Code.QUOTA_EXCEEDED, seconds)


def test_retry_after_in_milliseconds_comes_first() -> None:
    """OpenAI sends both headers; the one with milliseconds is exact."""
    assert find_retry_after({"retry-after-ms": "1500", "retry-after": "2"}) == "1.500"
    assert find_retry_after({"retry-after-ms": "soon", "retry-after": "14400"}) == "14400"
    assert find_retry_after({}) is None


@given(st.dictionaries(st.sampled_from([*SUBSCRIPTION, "x-ratelimit-remaining-requests"]), st.text()))
def test_no_header_breaks_the_reading(headers: dict[str, str]) -> None:
    """Any values of the headers give windows with a use and a time that can be true."""
    for window in read_limit_headers(headers, NOW):
        assert window.used is None or 0 <= window.used <= 10
        assert window.resets_at is None or abs(window.resets_at - NOW) <= 366 * 86_400


@pytest.mark.parametrize(
    ("minutes", "name"),
    [
        (300, "five_hour"),
        (299, "five_hour"),
        (10_080, "seven_day"),
        (10_079, "seven_day"),
        (1440, "24h"),
        (43_200, "30d"),
        (2880, "2d"),
        (90, "90m"),
        (60, "1h"),
        (15, "15m"),
    ],
)
def test_a_length_has_a_name(minutes: float, name: str) -> None:
    """The usual windows have their names, others are named by their length."""
    assert name_length(minutes * 60) == name


def test_a_family_is_the_end_of_a_name() -> None:
    """Only names of models are families."""
    assert [
        find_family(name) for name in ("seven_day_opus", "seven_day_sonnet", "seven_day", "five_hour")
    ] == [
        "opus",
        "sonnet",
        "",
        "",
    ]

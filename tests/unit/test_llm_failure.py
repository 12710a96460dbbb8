"""The codes of provider errors."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.errors import CODES, Code
from ostler.llm.failure import Rejection, classify_rejection, make_error, parse_retry_after, read_rejection

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


def now() -> float:
    return NOW


@pytest.mark.parametrize(
    ("status", "kinds", "message", "code"),
    [
        (401, ("authentication_error",), "invalid x-api-key", Code.AUTH_FAILED),
        (403, ("permission_error",), "", Code.AUTH_FAILED),
        (402, (), "", Code.BILLING),
        (404, ("not_found_error",), "model: x", Code.MODEL_NOT_FOUND),
        (407, (), "Proxy Authentication Required", Code.NETWORK),
        (408, (), "", Code.TIMEOUT),
        (413, ("request_too_large",), "", Code.PROMPT_TOO_LARGE),
        (429, ("rate_limit_error",), "slow down", Code.RATE_LIMITED),
        (429, ("rate_limit_error",), "enforced_spend_limit_reached", Code.BILLING),
        (429, ("insufficient_quota",), "You exceeded your current quota", Code.BILLING),
        (400, ("invalid_request_error",), "Your credit balance is too low", Code.BILLING),
        (400, ("invalid_request_error",), "prompt is too long: 9 tokens > 8 maximum", Code.PROMPT_TOO_LARGE),
        (400, ("context_length_exceeded",), "", Code.PROMPT_TOO_LARGE),
        (400, ("invalid_request_error",), "max_tokens: must be positive", Code.API_ERROR),
        (500, ("api_error",), "", Code.API_ERROR),
        (502, (), "an HTML page", Code.API_ERROR),
        (504, ("timeout_error",), "", Code.TIMEOUT),
        (529, ("overloaded_error",), "", Code.OVERLOADED),
        (200, ("overloaded_error",), "Overloaded", Code.OVERLOADED),
        (200, ("rate_limit_error",), "", Code.RATE_LIMITED),
        (200, ("api_error",), "", Code.API_ERROR),
        (302, (), "", Code.API_ERROR),
    ],
)
def test_a_rejection_has_its_code(status: int, kinds: tuple[str, ...], message: str, code: Code) -> None:
    """C42: the text, then the name of the error, then the status decides."""
    assert classify_rejection(Rejection(status, message, kinds)) is code


@pytest.mark.parametrize(
    "code", [Code.AUTH_FAILED, Code.MODEL_NOT_FOUND, Code.BILLING, Code.PROMPT_TOO_LARGE]
)
def test_what_no_retry_fixes_is_final(code: Code) -> None:
    """Errors of the key, the model, the account and the prompt are not retried."""
    assert not CODES[code].retryable


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0.0),
        ("17", 17.0),
        (" 2.5 ", 2.5),
        ("864000", 864000.0),
        ("9" * 400, 30 * 86400.0),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("1e9", None),
        ("1_000", None),
        ("\u0663", None),
        ("soon, I hope", None),
        ("Fri, 15 Jan 2027 08:01:00 GMT", 60.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 30 * 86400.0),
        ("Fri, 99 Jan 2027 08:01:00 GMT", None),
    ],
)
def test_retry_after_is_read(header: str | None, seconds: float | None) -> None:
    """D1: the header has seconds or a date, and is limited to thirty days; other values are ignored."""
    assert parse_retry_after(header, now) == seconds


@given(st.text())
def test_no_header_breaks_the_reading(header: str) -> None:
    """No value of the header raises an exception."""
    seconds = parse_retry_after(header, now)
    assert seconds is None or 0 <= seconds <= 30 * 86400


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}',
            Rejection(503, "Overloaded", ("overloaded_error",)),
        ),
        (
            b'{"error":{"message":"no such model","type":"x","code":"model_not_found","param":null}}',
            Rejection(503, "no such model", ("x", "model_not_found")),
        ),
        (b'{"error":{"message":null}}', Rejection(503)),
        (b'{"error":"plain"}', Rejection(503, '{"error":"plain"}')),
        (b"<html><body>Bad gateway</body></html>", Rejection(503, "an HTML page")),
        (b"upstream gone\n", Rejection(503, "upstream gone")),
        (b"", Rejection(503)),
    ],
)
def test_an_error_body_is_read(body: bytes, expected: Rejection) -> None:
    """Error bodies of both APIs and of proxies are parsed."""
    assert read_rejection(503, body) == expected


def test_a_status_inside_a_stream_counts() -> None:
    """Some gateways send status 200 with the real status as the error's code."""
    assert read_rejection(200, b'{"error":{"code":429,"message":"slow"}}').status == 429
    assert read_rejection(500, b'{"error":{"code":429,"message":"slow"}}').status == 500


@given(st.integers(100, 599), st.binary(max_size=200) | st.text().map(lambda text: json.dumps(text).encode()))
def test_any_body_becomes_one_line(status: int, body: bytes) -> None:
    """Any error body becomes one short line."""
    failure = make_error(read_rejection(status, body), "host", now)
    assert failure.code in CODES
    assert "\n" not in failure.message
    assert len(failure.message) < 400


def test_the_message_names_the_provider_and_the_error() -> None:
    """The message has the host, the status and the text of the provider."""
    failure = make_error(Rejection(429, "slow\n  down", ("rate_limit_error",), "3"), "api.example.org", now)
    assert failure.message == "api.example.org answered 429: slow down"
    assert failure.retry_after_seconds == 3
    assert make_error(Rejection(500), "api.example.org", now).message == "api.example.org answered 500"


@pytest.mark.parametrize(
    ("status", "kinds", "found"),
    [(503, (), 503), (200, ("api_error",), 500), (200, ("server_error",), 500), (200, ("other",), 200)],
)
def test_the_status_of_an_error_within_a_stream(status: int, kinds: tuple[str, ...], found: int) -> None:
    """An error of the server after the first part of an answer is an outage, like status 500."""
    assert make_error(Rejection(status, "", kinds), "host").status == found

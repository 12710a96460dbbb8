"""The real claude and a provider that fails: each row has its code, soon, and leaves nothing running."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.testing.fake_llm import FAULTS, FakeLlm
from real_claude import Seat

# Row: its code, and how many requests claude makes of it with the two retries that we leave it.
ROWS: dict[str, tuple[Code | None, int]] = {
    "d1_seconds": (Code.RATE_LIMITED, 1),
    "d1_date": (Code.RATE_LIMITED, 3),
    "d1_zero": (Code.RATE_LIMITED, 3),
    "d1_negative": (Code.RATE_LIMITED, 3),
    "d1_ten_days": (Code.RATE_LIMITED, 1),
    "d1_garbage": (Code.RATE_LIMITED, 3),
    "d2_no_header": (Code.RATE_LIMITED, 3),
    "d2_spend_limit_429": (Code.BILLING, 3),
    "d2_spend_limit_400": (Code.BILLING, 6),
    "d2_credit": (Code.BILLING, 1),
    "d2_payment": (Code.BILLING, 1),
    "d3_529": (Code.OVERLOADED, 3),
    "d3_503": (Code.API_ERROR, 3),
    "d3_500": (Code.API_ERROR, 3),
    "d3_502_html": (Code.API_ERROR, 3),
    "d4_error_event": (Code.OVERLOADED, 3),
    "d5_reset": (Code.STREAM_BROKEN, 4),
    "d5_end": (Code.STREAM_BROKEN, 3),
    "d5_truncated": (Code.STREAM_BROKEN, 4),
    "d8_401": (Code.AUTH_FAILED, 3),
    "d8_403": (Code.AUTH_FAILED, 1),
    "d9_404": (Code.MODEL_NOT_FOUND, 2),
    "d10_max_tokens": (Code.OUTPUT_LIMIT, 4),
    "d10_refusal": (Code.REFUSED, 2),
    "d10_empty": (Code.RESPONSE_EMPTY, 2),
    "d10_unknown_block": (None, 1),
    "d11_413": (Code.PROMPT_TOO_LARGE, 1),
    "d11_context": (Code.PROMPT_TOO_LARGE, 1),
}
SOON_SECONDS = 40.0  # ten times what the slowest row takes


@pytest.mark.parametrize("row", ROWS)
def test_each_fault_of_the_provider_has_its_code(row: str, tmp_path: Path) -> None:
    """The right code within seconds, no more requests than allowed, and no process left."""
    code, requests = ROWS[row]
    began = time.monotonic()
    with FakeLlm([FAULTS[row]]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.spawn()
    assert (result.code, len(llm.asked)) == (code, requests), result.message
    assert time.monotonic() - began < SOON_SECONDS
    assert seat.processes() == []
    assert code is None or (result.message.startswith("claude ") and "\n" not in result.message)

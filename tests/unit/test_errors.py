"""The table of error codes: complete, with the origin that the callers depend on."""

from __future__ import annotations

import pytest

from ostler.errors import CODES, Code, Origin, is_host_failure, is_host_limit, is_provider_limit

# Failures of the host are never the task's: a run stops, and its tasks keep their state.
HOST_FAILURES = {
    Code.AGENT_KILLED,
    Code.AGENT_OOM,
    Code.BLOBS_UNAVAILABLE,
    Code.DISK_FULL,
    Code.ENGINE_UNAVAILABLE,
    Code.HELPER_STUCK,
    Code.STATE_BUSY,
    Code.JOURNAL_LOST,
    Code.JOURNAL_IN_USE,
    Code.STATE_CORRUPT,
    Code.STATE_VERSION,
    Code.REMOTE_UNREACHABLE,
    Code.STORE_UNAVAILABLE,
    Code.STORAGE_ERROR,
}
HOST_LIMITS = {Code.SLOT_TIMEOUT, Code.SPAWN_FAILED}
PROVIDER_LIMITS = {Code.QUOTA_EXCEEDED, Code.RATE_LIMITED}
PERSON_LIMITS = {Code.BUDGET_EXCEEDED, Code.ITERATION_LIMIT}


@pytest.mark.parametrize("code", list(Code))
def test_every_code_has_facts(code: Code) -> None:
    """Each code has an origin, a meaning in one phrase and an exit code of the contract."""
    facts = CODES[code]
    assert facts.origin in Origin and facts.exit in (1, 2, 3, 4, 5, 130)
    assert facts.meaning and not facts.meaning.endswith(".")


@pytest.mark.parametrize("code", list(Code))
def test_origin_decides_what_a_failure_means(code: Code) -> None:
    """Each rule selects exactly the codes that it is for."""
    assert is_host_failure(code) == (code in HOST_FAILURES)
    assert is_host_limit(code) == (code in HOST_LIMITS)
    assert is_provider_limit(code) == (code in PROVIDER_LIMITS)
    assert CODES[code].is_limit == (code in HOST_LIMITS | PROVIDER_LIMITS | PERSON_LIMITS)


def test_only_a_bug_is_ours() -> None:
    """UNKNOWN alone has the origin ours; only it and a lost journal exit with 3."""
    assert [code for code in Code if CODES[code].origin is Origin.OURS] == [Code.UNKNOWN]
    journal = {Code.JOURNAL_LOST, Code.JOURNAL_IN_USE}
    assert {code for code in Code if CODES[code].exit == 3} == {Code.UNKNOWN, *journal}


def test_exit_five_is_a_limit() -> None:
    """A task that ends with exit code 5 can continue once a limit allows it."""
    assert all(CODES[code].is_limit for code in Code if CODES[code].exit == 5)

"""The choice of a tier: one whose self-test failed is never used, whatever was requested."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import Code, OstlerError
from ostler.sandbox.box import self_test
from ostler.sandbox.box.tiers import choose_tier

REASON = "its self-test failed (connect)"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A PATH with a program that has the name of bubblewrap."""
    program = tmp_path / "bwrap"
    program.touch(0o755)
    return {"PATH": str(tmp_path)}


def test_a_failed_self_test_is_not_used(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` works without a sandbox and names the reason; the named tier is an error."""
    monkeypatch.setattr(self_test, "why_bubblewrap_fails", lambda program, namespaces: REASON)
    found = choose_tier("auto", environ)
    assert (found.tier, found.verified, found.is_sandbox) == ("supervised", False, False)
    assert found.reason.endswith(REASON)
    with pytest.raises(OstlerError) as error:
        choose_tier("bubblewrap", environ)
    assert error.value.code is Code.SANDBOX_UNAVAILABLE
    assert REASON in error.value.message


def test_root_needs_no_user_namespace(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Root uses bubblewrap without a user namespace if only that one works; another user does not."""
    monkeypatch.setattr(
        self_test, "why_bubblewrap_fails", lambda program, namespaces: "" if namespaces == "root" else REASON
    )
    monkeypatch.setattr("os.geteuid", lambda: 0)
    found = choose_tier("auto", environ)
    assert (found.tier, found.verified, found.namespaces) == ("bubblewrap", True, "root")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert choose_tier("auto", environ).tier == "supervised"

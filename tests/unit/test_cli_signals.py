"""Signals that stop a run."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from ostler.cli.signals import SignalHandler
from ostler.errors import Code, OstlerError
from ostler.store.busy import StopRequest


def test_a_signal_ends_the_waits_of_a_blocked_loop(capsys: pytest.CaptureFixture[str]) -> None:
    """A read that waits for a store blocks the loop, which stops the run when the wait has ended."""
    request, stopped = StopRequest(), list[bool]()

    async def scene() -> SignalHandler:
        handler = SignalHandler(lambda: stopped.append(True), request=request)
        os.kill(os.getpid(), signal.SIGTERM)
        assert request.is_set(), "the loop has to run first"
        assert not stopped
        await asyncio.sleep(0.05)
        return handler

    handler = asyncio.run(scene())
    assert (stopped, handler.exit_code) == ([True], 143)
    assert "Stopping" in capsys.readouterr().err
    assert handler.is_reason(OstlerError(Code.STORE_UNAVAILABLE, "it does not answer", ""))
    assert not handler.is_reason(OstlerError(Code.DISK_FULL, "the disk is full", ""))

"""Recorded waits of the real agents: what is recognised, when the agent is ended, and the result."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import Raw

from ostler.calls.attempts.liveness import LivenessMonitor
from ostler.calls.attempts.liveness_signals import ActivitySample
from ostler.calls.attempts.provider_wait import ProviderWait
from ostler.config.settings import ExecutorSettings, LimitsSettings, RetrySettings
from ostler.errors import Code
from ostler.executors import codex, opencode
from ostler.executors.acp.updates import UpdateReader
from ostler.executors.limits.retries import RetryLines
from ostler.executors.registry import ExecutorRegistry
from ostler.executors.root_owned import find_insecurity
from ostler.executors.stream_state import StreamState
from ostler.model.call import AgentCall, AgentEvent, CallResult, RetryReported, SessionStarted, WarningRaised
from ostler.model.command import Command, Exit, IdleTimeout, Sink, StopNow
from ostler.testing.mocks import MockCommandRunner
from ostler.testing.virtual_clock import VirtualClock

SAMPLES = Path(__file__).parents[1] / "data" / "waits"
FIVE_HOURS = 5 * 3600 + 23 * 60 + 10
RETRY, LIMITS = RetrySettings(), LimitsSettings()


class Line(NamedTuple):
    at: float
    kind: str  # out, err, request; exit with the status; alive
    text: str


def lines_of(sample: str) -> list[Line]:
    parts = (line.split(" ", 2) for line in (SAMPLES / f"{sample}.txt").read_text("utf-8").splitlines())
    return [Line(float(at), kind, text) for at, kind, text in parts]


class Replay:
    """Replays a recording with the supervision of an attempt; the time is virtual."""

    def __init__(self, sample: str) -> None:
        self.clock = VirtualClock()
        self.began = self.output_at = self.clock.monotonic()
        wait = ProviderWait(RETRY.max_delay_seconds, LIMITS.quiet_seconds)
        self.monitor = LivenessMonitor(
            600.0, self.clock, sample=lambda *_: ActivitySample(0.0, 1), provider_wait=wait
        )
        self.lines = lines_of(sample)
        self.events: list[AgentEvent] = []
        self.ended_at: float | None = None  # since the first request; None: by itself

    @property
    def first_request_at(self) -> float:
        return next((line.at for line in self.lines if line.kind == "request"), 0.0)

    def on_event(self, event: AgentEvent) -> None:
        self.events.append(event)
        self.monitor.on_event(event)

    async def run(self, command: Command, sink: Sink) -> Exit:
        assert command.on_error_line is not None
        stdout = 0
        for line in self.lines:
            stopped = await self._advance(line.at)
            if stopped is None and line.kind == "out":
                sink(line.text.encode())
                stdout += len(line.text)
            elif stopped is None and line.kind == "err":
                command.on_error_line(line.text.encode())
            if line.kind in ("out", "err"):
                stopped = stopped or self._printed()
            if stopped is not None:
                return self._stopped(stopped, stdout)
            if line.kind == "exit":
                return Exit(int(line.text), line.at, stdout_bytes=stdout, stderr_tail=self._stderr())
        stopped = await self._advance(10_000.0)
        assert stopped is not None
        return self._stopped(stopped, stdout)

    def _printed(self) -> StopNow | None:
        self.output_at = self.clock.monotonic()
        return self.monitor.check_output()

    async def _advance(self, at: float) -> StopNow | None:
        """Check the silent agent as a runner does, until this time."""
        due = self.output_at + self.monitor.first_check_seconds
        while due < self.began + at:
            self.clock.advance(due - self.clock.monotonic())
            silent = self.clock.monotonic() - self.output_at
            verdict = await self.monitor.check_idle(IdleTimeout(1, ".", silent, "", ""))
            if isinstance(verdict, StopNow):
                return verdict
            due = self.clock.monotonic() + verdict.seconds
        self.clock.advance(max(0.0, self.began + at - self.clock.monotonic()))
        return None

    def _stopped(self, stop: StopNow, stdout: int) -> Exit:
        seconds = self.clock.monotonic() - self.began
        self.ended_at = seconds - self.first_request_at
        return Exit(-15, seconds, stop.cause, stop.reason, stdout_bytes=stdout, stderr_tail=self._stderr())

    def _stderr(self) -> str:
        return "\n".join(line.text for line in self.lines if line.kind == "err")[-8000:]


def replay(sample: str, transcript: str = "") -> tuple[Replay, CallResult]:
    played = Replay(sample)
    kind = sample.partition("_")[0]
    runner = MockCommandRunner(run_function=played.run)
    executor = ExecutorRegistry().get(kind)(kind, ExecutorSettings(command="true"), runner)
    call = AgentCall("i", "p", "s-1", env={}, transcript=transcript)
    result = asyncio.run(executor.spawn(call, played.on_event))
    return played, result


class Expected(NamedTuple):
    code: Code
    ended_after: float | None = None  # seconds after the first request at most; None: it ends by itself
    retry_after: float | None = None


QUOTA, LIMITED, DOWN, NETWORK = Code.QUOTA_EXCEEDED, Code.RATE_LIMITED, Code.OVERLOADED, Code.NETWORK
EXPECTED = {
    "gemini_quota": Expected(QUOTA, 1.0, FIVE_HOURS),
    "gemini_hours": Expected(QUOTA, None, 19390.0),
    "gemini_429": Expected(LIMITED, 80.0),
    "gemini_503": Expected(DOWN, 80.0),
    "gemini_refused": Expected(NETWORK, 80.0),
    "opencode_quota": Expected(QUOTA, 75.0),
    "opencode_hours": Expected(QUOTA, 2.0, FIVE_HOURS),
    "opencode_429": Expected(LIMITED, 75.0),
    "opencode_503": Expected(DOWN, 75.0),
    "opencode_refused": Expected(NETWORK, 80.0),
    "copilot_quota": Expected(QUOTA),
    "copilot_hours": Expected(QUOTA, None, FIVE_HOURS),
    "copilot_429": Expected(LIMITED),
    "copilot_503": Expected(DOWN),
    "copilot_refused": Expected(NETWORK),
    "codex_quota": Expected(QUOTA),
    "codex_hours": Expected(QUOTA, 1.0, 19390.0),
    "codex_429": Expected(LIMITED),
    "codex_503": Expected(DOWN),
    "codex_refused": Expected(NETWORK, 95.0),
    "qwen_quota": Expected(QUOTA),
    "qwen_hours": Expected(QUOTA, None, FIVE_HOURS),
    "qwen_429": Expected(LIMITED),
    "qwen_503": Expected(DOWN),
    "qwen_refused": Expected(NETWORK),
}


def test_every_recording_is_a_case() -> None:
    """A new recording needs a row."""
    assert {path.stem for path in SAMPLES.glob("*.txt")} == set(EXPECTED)


@pytest.mark.parametrize("sample", EXPECTED)
def test_a_limit_in_the_output_is_a_limit(sample: str) -> None:
    """Whether the agent gives up or waits: the code is that of the limit, and the wait is bounded."""
    expected = EXPECTED[sample]
    played, result = replay(sample)
    assert result.code is expected.code, result.message
    assert result.text == ""
    if expected.ended_after is None:
        assert played.ended_at is None, result.message
    else:
        assert played.ended_at is not None and played.ended_at <= expected.ended_after
        assert result.final and result.session_id
    if expected.retry_after is not None:
        assert result.retry_after_seconds == pytest.approx(expected.retry_after, abs=1.0)


def test_gemini_is_ended_when_it_announces_hours() -> None:
    """The retry is reported with the wait of gemini; the limit lasts as long as the provider reports."""
    played, result = replay("gemini_quota")
    (retry,) = [event for event in played.events if isinstance(event, RetryReported)]
    assert retry.code is Code.QUOTA_EXCEEDED and retry.delay_seconds > FIVE_HOURS
    assert any(isinstance(event, SessionStarted) for event in played.events)
    assert "Your quota will reset after 5h23m10s" in result.message


@pytest.mark.parametrize(
    ("line", "code", "seconds"),
    [
        (b"Retrying in 60s (attempt 1/10): 429 Too Many Requests", LIMITED, 60.0),
        (b"\x1b[33mrate limit reached, retrying in 2 minutes\x1b[0m", LIMITED, 120.0),
        (b"Service unavailable (503). Will retry.", DOWN, 0.0),
        (b"connect ECONNREFUSED 127.0.0.1:443, retrying", NETWORK, 0.0),
    ],
)
def test_words_of_any_program(line: bytes, code: Code, seconds: float) -> None:
    """Programs without lines of their own are read by the usual words."""
    retry = RetryLines().find(line)
    assert retry is not None and (retry.code, retry.delay_seconds) == (code, seconds)


@pytest.mark.parametrize(
    "line",
    [
        b"Retrying the failed tests",
        b"I am retrying: the login failed, invalid API key",
        b"rate limit reached",
        b"\xff\xfe retrying",
        b"",
        b"x" * 100_000 + b" 429, retrying in 5s",
    ],
)
def test_other_lines_are_no_retries(line: bytes) -> None:
    """Not every line with one of the words is about a request to the provider."""
    assert RetryLines().find(line) is None


PATCHED = [
    b'    log.warning("rate limit: HTTP 429, retrying in 6 hours")',
    b'    log.warning("rate limit, will retry")',
    b"    retrying sampling request (1/5 in 6h)... sampling_error=429 Too Many Requests",
    b"2026-11-16T10:00:00.1Z ERROR codex_core::tools::router: error=apply_patch verification failed:"
    b" 429 rate limit, retrying in 6 hours",
    b'+ message="stream error" session.id=s small=false error.error="429 rate limit, retrying in 6 hours"',
]


@pytest.mark.parametrize("line", PATCHED)
def test_source_code_in_the_error_output_is_no_retry(line: bytes) -> None:
    """codex and opencode print the text of a patch that failed: only their own log reports retries."""
    assert codex.RETRY_LINES.find(line) is None
    assert opencode.RETRY_LINES.find(line) is None


def test_the_report_with_the_wait_counts() -> None:
    """codex reports a retry twice: the wait is only in its log."""
    _, result = replay("codex_hours")
    assert result.retry_after_seconds == pytest.approx(19390.0, abs=1.0)


def test_codex_acp_reports_its_retries() -> None:
    """Its adapter sends them as information about the session."""
    events: list[AgentEvent] = []
    state = StreamState(AgentCall("i", "p"), events.append)
    error = {"message": "Reconnecting... 1/5", "additionalDetails": "last status: 429", "willRetry": True}
    update = {"sessionUpdate": "session_info_update", "_meta": {"codex": {"error": error}}}
    UpdateReader(state).read(Raw(json.dumps({"sessionId": "s", "update": update}).encode()), "s")
    assert events == [RetryReported(Code.RATE_LIMITED, 0.0)]


def test_a_skipped_settings_file_is_a_warning_at_the_second_retry(tmp_path: Path) -> None:
    """L6: gemini reads the file only where nobody but root can write; the temporary directory is not such."""
    tmp_path.chmod(0o777)
    played, _ = replay("gemini_429", str(tmp_path / "transcript"))
    warned = [event.message for event in played.events if isinstance(event, WarningRaised)]
    assert len(warned) == 1 and "gemini skips the settings of Ostler that limit its retries" in warned[0]
    retries = [event for event in played.events if isinstance(event, RetryReported | WarningRaised)]
    assert isinstance(retries[2], WarningRaised)


def test_settings_are_read_where_only_root_can_write(tmp_path: Path) -> None:
    """Each directory up to the root counts, and so does the target of a link."""
    assert find_insecurity(Path("/etc/no-such-file")) == ""
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    assert str(open_to_all) in find_insecurity(open_to_all / "settings.json")

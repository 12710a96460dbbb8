"""Every recorded line of a program at its limit is read: the code, the windows and the time to wait."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.claude.evaluate import evaluate_claude_run
from ostler.executors.claude.stream import ClaudeStream
from ostler.executors.limits.claude_event import read_report
from ostler.executors.limits.codex_session import read_session_windows
from ostler.executors.limits.reading import add_limits
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, AgentEvent, CallResult, LimitReported
from ostler.model.command import Exit
from ostler.model.limits.window import ReportedWindow
from ostler.testing.fake_agent import fake_agent
from ostler.testing.mocks import MockCommandRunner

SAMPLES = Path(__file__).parents[1] / "data" / "limits"
FIVE, WEEK = 5 * 3600.0, 7 * 86_400.0
RESET, WEEK_RESET = 1794790050.0, 1795207650.0  # of claude-rejected.jsonl
NOW = RESET - 4 * 3600
THREAD = "01a1e0f8-9dcb-7ac0-8d4d-dca09fdaebe1"


@pytest.fixture(autouse=True)
def machine_in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def read_windows(info: bytes, now: float) -> tuple[ReportedWindow, ...]:
    report = read_report(Raw(info))
    return report.list_windows("event", now) if report else ()


def lines(name: str) -> list[bytes]:
    return (SAMPLES / name).read_bytes().splitlines()


def play(printed: list[bytes], exit: Exit | None = None) -> tuple[CallResult, list[AgentEvent]]:
    """Read lines as the executor of claude does."""
    events: list[AgentEvent] = []
    stream = ClaudeStream(events.append, lambda: NOW)
    for line in printed:
        stream.read_line(line)
    return evaluate_claude_run(AgentCall("i", "p"), stream, exit or Exit(1, 1.0), lambda: NOW), events


def test_all_samples_are_here() -> None:
    """Each file has a test below."""
    assert {path.name for path in SAMPLES.iterdir()} == {
        "claude-warning.jsonl",
        "claude-rejected.jsonl",
        "claude-rejected-key.jsonl",
        "codex-rejected.jsonl",
        "codex-rollout-line.json",
        "gemini-waits.txt",
    }


def test_claude_at_93_percent() -> None:
    """Both windows are reported while claude runs and with the result."""
    answer = b'{"type":"result","result":"Done.","is_error":false}'
    result, events = play([*lines("claude-warning.jsonl"), answer], Exit(0, 1.0))
    expected = (
        ReportedWindow("five_hour", 0.93, 1794790043.0, "warning", FIVE),
        ReportedWindow("seven_day", 0.42, 1795207643.0, "allowed", WEEK),
    )
    assert LimitReported(expected) in events
    assert (result.code, result.windows, result.retry_after_seconds) == (None, expected, None)


def test_claude_rejected() -> None:
    """L1: QUOTA_EXCEEDED until the reset of the window that rejected."""
    result, _ = play(lines("claude-rejected.jsonl"))
    assert (result.code, result.retry_after_seconds) == (Code.QUOTA_EXCEEDED, 4 * 3600.0)
    assert result.windows == (
        ReportedWindow("five_hour", 1.0, RESET, "rejected", FIVE),
        ReportedWindow("seven_day", 0.42, WEEK_RESET, "allowed", WEEK),
    )


def failed(text: str) -> list[bytes]:
    return [json.dumps({"type": "result", "is_error": True, "result": text}).encode()]


@pytest.mark.parametrize(
    ("text", "name", "family", "seconds"),
    [
        ("You've hit your 5-hour limit · resets 12:47am (UTC)", "five_hour", "", 14_430.0),
        ("You've hit your session limit · resets 12:47am (UTC)", "five_hour", "", 14_430.0),
        ("You've hit your weekly limit · resets Nov 18, 3pm (UTC)", "seven_day", "", 238_410.0),
        ("You've hit your Opus limit · resets Nov 18, 3pm (UTC)", "seven_day_opus", "opus", 238_410.0),
        ("You've hit your Sonnet limit · resets Nov 18, 3pm (UTC)", "seven_day_sonnet", "sonnet", 238_410.0),
        ("You're out of extra usage · resets 11:30am (Asia/Colombo)", "overage", "", 33_210.0),
        ("Claude AI usage limit reached|1794790050", "quota", "", 14_400.0),
        ("5-hour limit reached ∙ resets 3am", "five_hour", "", 22_410.0),
        ("You've hit your 5-hour limit", "five_hour", "", None),
    ],
)
def test_claude_without_the_event(text: str, name: str, family: str, seconds: float | None) -> None:
    """The text alone has the window and the time, which is never earlier than that of the event."""
    result, _ = play(failed(text))
    assert result.code is Code.QUOTA_EXCEEDED
    (window,) = result.windows
    assert (window.name, window.family, window.status, window.source) == (name, family, "rejected", "text")
    assert result.retry_after_seconds == seconds
    assert window.resets_at == (None if seconds is None else NOW + seconds)


def test_claude_with_a_key() -> None:
    """RATE_LIMITED without a time: the settings have one."""
    text = json.loads(lines("claude-rejected-key.jsonl")[0])["message"]["content"][0]["text"]
    result, _ = play([*lines("claude-rejected-key.jsonl"), *failed(text)])
    assert (result.code, result.retry_after_seconds, result.windows) == (Code.RATE_LIMITED, None, ())


def event(**info: object) -> bytes:
    return json.dumps({"type": "rate_limit_event", "rate_limit_info": info}).encode()


PARTS = {"five_hour": {"utilization": 1, "resetsAt": RESET, "status": "rejected"}}


def test_claude_with_extra_usage_continues() -> None:
    """The window that is used up has a warning, and the extra usage is a window of its own."""
    extra = {"isUsingOverage": True, "overageStatus": "allowed_warning", "overageResetsAt": WEEK_RESET}
    line = event(status="rejected", rateLimitType="five_hour", resetsAt=RESET, unifiedWindows=PARTS, **extra)
    answer = b'{"type":"result","result":"Done."}'
    result, _ = play([line, answer], Exit(0, 1.0))
    assert result.code is None
    assert [(one.name, one.status) for one in result.windows] == [
        ("five_hour", "warning"),
        ("overage", "warning"),
    ]
    failed_later, _ = play([line, *failed("API Error: 500 Internal")])
    assert failed_later.code is Code.OVERLOADED


def test_a_limit_that_is_not_of_the_subscription_is_a_rate_limit() -> None:
    """claude prints the event without a window for a 429 of the server."""
    text = "API Error: Server is temporarily limiting requests (not your usage limit) · slow down"
    line = json.dumps({"type": "assistant", "error": "rate_limit", "message": {"content": text}}).encode()
    result, events = play([event(status="rejected", isUsingOverage=False), line, *failed(text)])
    assert (result.code, result.windows) == (Code.RATE_LIMITED, ())
    assert not [one for one in events if isinstance(one, LimitReported)]


def test_a_model_window_is_reported_beside_the_others() -> None:
    """The window that decides may be missing in the list."""
    line = event(status="rejected", rateLimitType="seven_day_opus", resetsAt=WEEK_RESET, unifiedWindows={})
    result, _ = play([line, *failed("API Error")])
    assert result.windows == (ReportedWindow("seven_day_opus", None, WEEK_RESET, "rejected", WEEK, "opus"),)
    assert result.retry_after_seconds == WEEK_RESET - NOW


OPUS_PART = {"seven_day_opus": {"utilization": 1.0, "resetsAt": WEEK_RESET, "status": "rejected"}}


def started(model: str) -> bytes:
    return json.dumps({"type": "system", "subtype": "init", "session_id": "s", "model": model}).encode()


@pytest.mark.parametrize(
    ("model", "status", "decides", "code"),
    [
        ("claude-sonnet-5", "allowed", "five_hour", Code.AGENT_FAILED),
        ("claude-sonnet-5", "rejected", "five_hour", Code.QUOTA_EXCEEDED),
        ("claude-sonnet-5", "rejected", "seven_day_opus", Code.QUOTA_EXCEEDED),
        ("claude-opus-4-6", "allowed", "five_hour", Code.QUOTA_EXCEEDED),
        ("", "allowed", "five_hour", Code.QUOTA_EXCEEDED),
    ],
)
def test_a_window_of_other_models_does_not_explain_a_crash(
    model: str, status: str, decides: str, code: Code
) -> None:
    """Only the window that decides, or one that counts the called model, rejects a request."""
    line = event(status=status, rateLimitType=decides, resetsAt=RESET, unifiedWindows=OPUS_PART)
    result, _ = play([started(model), line], Exit(1, 1.0, stderr_tail="TypeError: x is undefined"))
    assert result.code is code, result.message


def test_extra_usage_that_is_off_does_not_explain_a_crash() -> None:
    """Many accounts have none."""
    extra = {"overageStatus": "rejected", "overageResetsAt": WEEK_RESET}
    line = event(status="allowed", rateLimitType="five_hour", resetsAt=RESET, **extra)
    result, _ = play([line], Exit(1, 1.0, stderr_tail="TypeError: x is undefined"))
    assert result.code is Code.AGENT_FAILED
    limited, _ = play([line, *failed("You've hit your 5-hour limit · resets 12:47am (UTC)")])
    assert [one.name for one in limited.windows if one.status == "rejected"] == ["overage", "five_hour"]
    assert limited.retry_after_seconds == RESET - NOW


def test_the_text_names_the_window_beside_one_of_other_models() -> None:
    """The wait is that of the window in the text, and not a week."""
    line = event(status="allowed", rateLimitType="five_hour", resetsAt=RESET, unifiedWindows=OPUS_PART)
    text = "You've hit your 5-hour limit · resets 12:47am (UTC)"
    result, _ = play([started("claude-sonnet-5"), line, *failed(text)])
    assert (result.code, result.retry_after_seconds) == (Code.QUOTA_EXCEEDED, RESET - NOW)


@pytest.mark.parametrize(
    "info", [b"", b"null", b"[]", b'{"status":5}', b'{"unifiedWindows":7}', b'{"resetsAt":"soon"}', b"{"]
)
def test_an_odd_event_is_no_limit(info: bytes) -> None:
    """A value of another type is ignored, as in every line."""
    assert read_windows(info, NOW) == ()


def test_numbers_that_cannot_be_true_are_unknown() -> None:
    """A reset in the year 9999, or a use of minus one, is not shown to anyone."""
    info = b'{"rateLimitType":"five_hour","resetsAt":1e300,"utilization":-1}'
    (window,) = read_windows(info, NOW)
    assert (window.used, window.resets_at) == (None, None)


def run_codex(printed: list[bytes], home: Path, exit: Exit) -> CallResult:
    settings = ExecutorSettings(command=str(fake_agent(home / "bin", "codex")))
    executor = ExecutorRegistry().get("codex")("codex", settings, MockCommandRunner(printed, exit))
    call = AgentCall("i", "p", env={"CODEX_HOME": str(home)})
    return asyncio.run(executor.spawn(call, lambda _: None))


def store(home: Path, at: float, thread: str = THREAD, day: str = "2026/11/16", **changed: object) -> Path:
    """Write the recorded limits into a session file, as codex does."""
    limits = json.loads((SAMPLES / "codex-rollout-line.json").read_bytes())["rate_limits"] | changed
    stamp = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    payload = {"type": "token_count", "info": None, "rate_limits": limits}
    entry = {"timestamp": stamp, "type": "event_msg", "payload": payload}
    path = home / "sessions" / day / f"rollout-2026-11-16T09-45-00-{thread}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(msgspec.json.encode(entry) + b"\n")
    return path


def test_codex_rejected_by_its_text() -> None:
    """L2: the local time in the text, with the date."""
    message = json.loads(lines("codex-rejected.jsonl")[-1])["error"]["message"]
    result = add_limits(CallResult(Code.QUOTA_EXCEEDED, message), message, now=lambda: NOW)
    assert result.retry_after_seconds == datetime(2026, 11, 16, 0, 41, tzinfo=UTC).timestamp() - NOW


def test_codex_rejected_with_its_session_file(tmp_path: Path) -> None:
    """The window that is used up has rejected; the time is that of the file."""
    store(tmp_path, time.time() + 5)
    result = run_codex(lines("codex-rejected.jsonl"), tmp_path, Exit(1, 1.0, stdout_bytes=9))
    assert result.code is Code.QUOTA_EXCEEDED
    assert result.windows == (
        ReportedWindow("five_hour", 1.0, 1794789625.0, "rejected", FIVE, source="file"),
        ReportedWindow("seven_day", 0.8, 1795092457.0, "allowed", WEEK, source="file"),
    )


def test_codex_reports_its_windows_after_an_answer(tmp_path: Path) -> None:
    """A successful run has them, too; an earlier run's are not used."""
    printed = [
        json.dumps({"type": "thread.started", "thread_id": THREAD}).encode(),
        b'{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"Done."}}',
        b'{"type":"turn.completed"}',
    ]
    store(tmp_path, time.time() - 60)
    assert run_codex(printed, tmp_path, Exit(0, 1.0)).windows == ()
    store(tmp_path, time.time() + 5, primary={"used_percent": 12.5, "window_minutes": 299})
    result = run_codex(printed, tmp_path, Exit(0, 1.0))
    assert result.code is None
    assert [(one.name, one.used, one.status) for one in result.windows] == [
        ("five_hour", 0.125, "allowed"),
        ("seven_day", 0.8, "allowed"),
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            {"primary": {"used_percent": 5, "window_minutes": 1440, "resets_in_seconds": 60}},
            ("24h", NOW + 60),
        ),
        ({"primary": {"used_percent": 5, "window_minutes": 43200}}, ("30d", None)),
        ({"primary": {"used_percent": 5}}, ("quota", None)),
        ({"primary": {"used_percent": 5, "window_minutes": 1e307, "resets_at": 1e307}}, ("quota", None)),
        ({"primary": {"used_percent": 1e308, "window_minutes": -300, "resets_at": 4e9}}, ("quota", None)),
        ({"primary": {"window_minutes": 0, "resets_in_seconds": 1e308}}, ("quota", None)),
    ],
)
def test_other_lengths_are_named_by_their_minutes(
    written: dict[str, object], expected: tuple[str, float | None], tmp_path: Path
) -> None:
    """A day, a month, and a window without a length; older versions store the seconds until the reset."""
    store(tmp_path, NOW, secondary=None, **written)
    (window,) = read_session_windows({"CODEX_HOME": str(tmp_path)}, THREAD, NOW)
    assert (window.name, window.resets_at) == expected


def test_only_the_file_of_the_session_is_read(tmp_path: Path) -> None:
    """Another session, an invalid id, a missing folder and lines that are not JSON give no windows."""
    path = store(tmp_path, NOW, "another")
    env = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path)}
    assert read_session_windows(env, THREAD, 0.0) == ()
    assert read_session_windows(env, "../*", 0.0) == ()
    assert read_session_windows({"CODEX_HOME": str(tmp_path / "none")}, THREAD, 0.0) == ()
    assert len(read_session_windows(env, "another", 0.0)) == 2
    path.write_bytes(b'{"rate_limits" \xff\n{"timestamp":"soon","payload":{"rate_limits":{"primary":{}}}}\n')
    assert read_session_windows(env, "another", 0.0) == ()


def test_gemini_waits() -> None:
    """L3: the time of the quota, without the delay that gemini adds."""
    text = (SAMPLES / "gemini-waits.txt").read_text()
    result = add_limits(CallResult(Code.QUOTA_EXCEEDED, text), text, now=lambda: NOW)
    assert result.retry_after_seconds == 5 * 3600 + 23 * 60 + 10
    assert [(one.name, one.status) for one in result.windows] == [("quota", "rejected")]


@pytest.mark.parametrize("name", ["\x1b[2J\nfake line", "x" * 41, "", "fünf", "a b"])
def test_a_name_that_cannot_be_shown_is_quota(name: str) -> None:
    """Names of windows reach terminals, files and metrics."""
    info = json.dumps({"rateLimitType": name, "resetsAt": RESET, "unifiedWindows": {name: {}}}).encode()
    (window,) = read_windows(info, NOW)
    assert (window.name, window.resets_at) == ("quota", RESET)


def test_an_integer_without_end_is_not_a_time() -> None:
    """msgspec reads any number of digits."""
    info = b'{"rateLimitType":"five_hour","resetsAt":1%b,"utilization":1%b}' % (b"0" * 400, b"0" * 400)
    assert [(one.used, one.resets_at) for one in read_windows(info, NOW)] in ([], [(None, None)])

"""OpenTelemetry through the whole program: one tree per task, and a run never waits for it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from limits_world import note_windows, window_use
from receiver import Receiver, attributes, run_until
from world import World

TWO_PHASES = """
[gates.commands]
test = "grep -q 'call 3' fake-agent.txt"
[gates.phases]
test = "command"
"""
ATTEMPT = "invoke_agent claude"


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def sends_to(world: World, address: str) -> None:
    (world.root / "ostler.toml").write_text(f'{TWO_PHASES}[telemetry]\notlp_endpoint = "{address}"\n')
    world.environ["OSTLER_PHASES__PLANS__SMALL"] = '["implement", "test"]'


def tree(spans: list[Any]) -> Counter[str]:
    """Return how often each path from the root to a span occurs."""
    by_id = {span.span_id: span for span in spans}

    def path(span: Any) -> str:
        above = by_id.get(span.parent_span_id)
        return f"{path(above)} > {span.name}" if above else span.name

    return Counter(map(path, spans))


def ended(collector: Receiver) -> bool:
    return any(span.name == "task" for span in collector.spans())


def epoch(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["time"]).timestamp()


def test_a_task_is_one_tree(world: World, collector: Receiver) -> None:
    """The second of two phases fails at its gate and sends the work back: every span occurs once."""
    sends_to(world, collector.address)
    task = world.new()
    run_until(world, lambda: ended(collector))
    spans = collector.spans()
    assert len({span.trace_id for span in spans}) == 1
    assert len({span.span_id for span in spans}) == len(spans)
    # Work that is sent back continues with the next iteration; a check of it starts anew.
    calls = {"implement > call implement 1": 1, "implement > call implement 2": 1, "test > call test 1": 2}
    once = {
        f"task > phase {call}{rest}": times
        for call, times in calls.items()
        for rest in ("", f" > {ATTEMPT}", f" > {ATTEMPT} > execute_tool Edit")
    }
    assert tree(spans) == {"task": 1, "task > phase implement": 2, "task > phase test": 2} | once
    failed = [span for span in spans if span.status.code == span.status.STATUS_CODE_ERROR]
    assert [span.name for span in failed] == ["phase test"]
    assert attributes(failed[0])["error.type"] == "GATE_REJECTED"
    assert attributes(failed[0])["ostler.gate.verdict"] == "fail"
    check_attempts(world, task, [span for span in spans if span.name == ATTEMPT])
    for span in spans:
        assert attributes(span)["ostler.task.id"] == task
        assert "Add a greeting" not in str(span), "the prompt is in a span"
    world.ostler("run", "--all")
    assert len(collector.spans()) == len(spans)


def check_attempts(world: World, task: str, spans: list[Any]) -> None:
    """Times are those of the feed, and names those of the conventions."""
    began = [epoch(event) for event in world.events(task) if event["type"] == "attempt_started"]
    ended = [epoch(event) for event in world.events(task) if event["type"] == "attempt_ended"]
    assert [span.start_time_unix_nano / 1e9 for span in spans] == pytest.approx(began, abs=0.002)
    assert [span.end_time_unix_nano / 1e9 for span in spans] == pytest.approx(ended, abs=0.002)
    shown = world.show(task)["attempts"][0]
    reported = attributes(spans[0])
    assert reported["gen_ai.operation.name"] == "invoke_agent"
    assert (reported["gen_ai.agent.name"], reported["gen_ai.provider.name"]) == ("claude", "anthropic")
    assert reported["gen_ai.response.model"] == shown["model"]
    assert reported["gen_ai.conversation.id"] == shown["session_id"]
    usage = shown["usage"]
    assert reported["gen_ai.usage.input_tokens"] == usage["input_tokens"] + usage["cache_read_tokens"]
    assert reported["gen_ai.usage.output_tokens"] == usage["output_tokens"]
    assert reported["ostler.cost_usd"] == pytest.approx(shown["cost_usd"])


def test_metrics_arrive(world: World, collector: Receiver) -> None:
    """Endings, tokens by kind, dollars, waits, used slots and limits, under the standard variable."""
    key = "sk-ant-" + "x1" * 20
    use = replace(window_use("five_hour", 0.93, time.time()), label=f"claude ({key})")
    note_windows(world.environ, use, window_use("seven_day", None, time.time(), resets_in=None))
    world.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.address
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(plan=[{}, {"fault": "api_error", "error": 429}])
    tasks = [world.new("First"), world.new("Second")]
    world.environ["OSTLER_RUN__JOBS"] = "1"
    run_until(world, collector.metrics, code=5)
    metrics = collector.metrics()
    endings = {
        attributes(one)["ostler.ending"]: one.as_int for one in metrics["ostler.tasks"].sum.data_points
    }
    assert endings == {"completed": 1, "deferred": 1}
    paid = [attempt for task in tasks for attempt in world.show(task)["attempts"]]
    tokens = {
        attributes(one)["gen_ai.token.type"]: one.sum
        for one in metrics["gen_ai.client.token.usage"].histogram.data_points
    }
    assert tokens["output"] == sum(one["usage"]["output_tokens"] for one in paid)
    dollars = sum(one.as_double for one in metrics["ostler.cost"].sum.data_points)
    assert dollars == pytest.approx(sum(one["cost_usd"] or 0 for one in paid))
    waits = metrics["ostler.wait.duration"].histogram.data_points
    assert sum(one.count for one in waits) >= 1 and all(one.sum > 0 for one in waits)
    assert [one.as_int for one in metrics["ostler.slots.used"].gauge.data_points] == [0]
    assert metrics["gen_ai.client.operation.duration"].unit == "s"
    check_limits(metrics)


def check_limits(metrics: dict[str, Any]) -> None:
    """A window has its use and its reset, without a key in its name; rejections and deferrals are counted."""
    (used,) = metrics["ostler.limit.used"].gauge.data_points
    named = {"ostler.account": "claude ([redacted:anthropic-key])", "ostler.window": "five_hour"}
    assert (used.as_double, attributes(used)) == (0.93, named)
    (reset,) = metrics["ostler.limit.reset"].gauge.data_points
    assert 7000 < reset.as_double <= 7200 and attributes(reset) == named
    (rejected,) = metrics["ostler.limit.rejections"].sum.data_points
    assert rejected.as_int == 1
    assert attributes(rejected)["error.type"] == "RATE_LIMITED"
    assert attributes(rejected)["gen_ai.agent.name"] == "claude"
    (deferred,) = metrics["ostler.limit.deferred"].sum.data_points
    assert deferred.as_double > 0 and attributes(deferred) == {"error.type": "RATE_LIMITED"}


@pytest.mark.full
def test_a_collector_that_is_down_changes_nothing(world: World) -> None:
    """The run ends as without it, reports it once, and the next run sends what is missing."""
    with Receiver() as collector:
        port = int(collector.address.rpartition(":")[2])
    sends_to(world, f"http://127.0.0.1:{port}")
    task = world.new()
    began = time.monotonic()
    done = world.ostler("run", "--all")
    assert time.monotonic() - began < 50
    assert world.show(task)["status"] == "completed"
    assert done.stderr.count("does not accept traces; the next run sends them") == 1
    assert "opentelemetry" not in done.stderr
    with Receiver() as collector:
        sends_to(world, collector.address)
        run_until(world, lambda: ended(collector))
        assert tree(collector.spans())["task"] == 1


@pytest.mark.full
def test_a_task_that_goes_on_after_a_kill_is_one_trace(world: World, collector: Receiver) -> None:
    """The span of the killed attempt ends at its last event; every id is unique."""
    sends_to(world, collector.address)
    world.new()
    world.ostler("run", "--all", code=-9, OSTLER_FAILPOINT="journal.appended:kill:7")
    world.ostler("run", "--all", code=-9, OSTLER_FAILPOINT="telemetry.sent:kill")
    run_until(world, lambda: ended(collector))
    spans = collector.spans()
    assert len({span.trace_id for span in spans}) == 1
    content: dict[bytes, set[tuple[str, int, int]]] = {}
    for span in spans:
        printed = (span.name, span.start_time_unix_nano, span.end_time_unix_nano)
        content.setdefault(span.span_id, set()).add(printed)
    assert all(len(printed) == 1 for printed in content.values())
    unique = {span.span_id: span for span in spans}
    assert tree(list(unique.values()))["task"] == 1


@pytest.mark.full
def test_without_the_extra_a_sentence_is_printed(world: World, collector: Receiver) -> None:
    """The run continues without telemetry."""
    hidden = world.root.parent / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['opentelemetry.exporter'] = None\n")
    world.environ["PYTHONPATH"] = f"{hidden}:{world.environ['PYTHONPATH']}"
    sends_to(world, collector.address)
    task = world.new()
    done = world.ostler("run", "--all")
    assert "telemetry is off because its packages are missing: pip install 'ostler[otel]'" in done.stderr
    assert world.show(task)["status"] == "completed"
    assert collector.calls == []

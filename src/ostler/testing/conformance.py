"""Checks that every executor must pass, and one for each capability that it claims:

    failures = asyncio.run(check_conformance(Subject(make=lambda: MyExecutor(...)), tmp_path))
    assert failures == []

Real models and the shipped fakes can both answer the prompts.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from ostler.errors import AgentUnavailable, Code
from ostler.model.call import AgentEvent, CallResult, SessionReplaced, ToolReturned, ToolUsed
from ostler.testing.conformance_bench import (
    Bench,
    Check,
    Make,
    NotConforming,
    Subject,
    demand,
    demand_success,
    read_transcript,
)
from ostler.testing.conformance_claims import CLAIMS, MORE_CHECKS

__all__ = ["CHECKS", "CLAIMS", "Make", "NotConforming", "Subject", "check_conformance", "run_check"]


async def check_conformance(subject: Subject, workspace: Path) -> list[str]:
    """Run every check in its own directory and return the failures, as one line each."""
    failures: list[str] = []
    for name in CHECKS:
        try:
            await run_check(name, subject, workspace / name)
        except NotConforming as error:
            failures.append(f"{name}: {error}")
    return failures


async def run_check(name: str, subject: Subject, workspace: Path) -> None:
    """Run one check; raises NotConforming."""
    await CHECKS[name](Bench(subject, workspace))


async def has_a_name(bench: Bench) -> None:
    executor = bench.subject.make()
    demand(executor.name.strip(), "the name is blank")
    executor.validate_availability()


async def does_the_work(bench: Bench) -> None:
    call = bench.call(bench.subject.work)
    result = await bench.spawn(call)
    demand_success(result)
    well = 0 if bench.subject.starts_program else None
    demand(result.exit_code == well, f"success with exit code {result.exit_code}")
    demand(bench.events, "no event was reported during the call")
    demand(read_transcript(call), "the transcript is empty")
    _demand_returns(bench.events)


def _demand_returns(events: list[AgentEvent]) -> None:
    """Require that each tool use with an id is reported before its result, and has a result."""
    waiting: set[str] = set()
    for event in events:
        if isinstance(event, ToolUsed) and event.id:
            waiting.add(event.id)
        elif isinstance(event, ToolReturned):
            demand(
                event.id in waiting or not event.id,
                f"a result of {event.id!r:.80} was reported without a use",
            )
            waiting.discard(event.id)
    demand(not waiting, f"no result was reported for {', '.join(sorted(waiting))[:80]}")


async def passes_system_text(bench: Bench) -> None:
    """Check that the system text reaches the agent in a new session and in a resumed one."""
    subject = bench.subject
    first = await bench.spawn(bench.call(subject.recall, system=subject.remember))
    demand_success(first)
    demand(subject.word in first.text, f"the system text did not reach the agent: {first.text!r:.200}")
    if bench.claims.resumes:
        call = bench.call(subject.recall, before=first, system=subject.remember)
        second = await bench.resume(call)
        demand(subject.word in second.text, f"the system text is lost after resume: {second.text!r:.200}")


async def never_replaces_a_session_silently(bench: Bench) -> None:
    if not (bench.claims.resumes and bench.subject.keeps_sessions):
        return
    result = await bench.resume(bench.call(bench.subject.work))
    _demand_reported(bench, result, Code.SESSION_NOT_FOUND, resumed=False)
    if not (bench.claims.accepts_session_id and bench.subject.refuses_taken_ids):
        return
    first = await bench.spawn(bench.call(bench.subject.work))
    bench.events.clear()
    again = await bench.spawn(bench.call(bench.subject.work, session=first.session_id))
    _demand_reported(bench, again, Code.SESSION_IN_USE, resumed=True)


def _demand_reported(bench: Bench, result: CallResult, code: Code, *, resumed: bool) -> None:
    reported = SessionReplaced(result.session_id, resumed) in bench.events
    demand(reported or result.code is code, f"expected SessionReplaced or {code}, got {result.code}")


async def reports_missing_program(bench: Bench) -> None:
    if bench.subject.make_missing is None:
        return
    result = await bench.spawn(bench.call(bench.subject.work), bench.subject.make_missing)
    demand(result.code is Code.AGENT_NOT_FOUND, f"a missing program gave {result.code}")
    try:
        bench.subject.make_missing().validate_availability()
    except AgentUnavailable as error:
        demand(error.hint, "the error for a missing program has no install hint")
        return
    raise NotConforming("validate_availability did not raise for a missing program")


async def rejects_empty_answer(bench: Bench) -> None:
    if bench.subject.make_empty is not None:
        result = await bench.spawn(bench.call(bench.subject.work), bench.subject.make_empty)
        demand(result.code is Code.RESPONSE_EMPTY, f"an empty answer gave {result.code}")


async def stops_in_time(bench: Bench) -> None:
    if bench.subject.make_hanging is not None:
        call = bench.call(bench.subject.work, timeout_seconds=0.5)
        result = await bench.spawn(call, bench.subject.make_hanging)
        demand(result.code is Code.TIMEOUT, f"a call past its timeout gave {result.code}")
        demand(not bench.processes(), "a process outlived the timeout")


async def leaves_nothing_when_cancelled(bench: Bench) -> None:
    if bench.subject.make_hanging is None:
        return
    running = asyncio.create_task(bench.spawn(bench.call(bench.subject.work), bench.subject.make_hanging))
    while not bench.is_working() and not running.done():  # noqa: ASYNC110  (a new process sends no event)
        await asyncio.sleep(0.02)
    running.cancel()
    ended = (await asyncio.gather(running, return_exceptions=True))[0]
    demand(isinstance(ended, asyncio.CancelledError), f"a cancelled call gave {ended!r:.200}")
    demand(not bench.processes(), "a process outlived the cancellation")


async def shares_nothing_between_calls(bench: Bench) -> None:
    executor = bench.subject.make()
    calls = [bench.call(bench.subject.work) for _ in range(4)]
    results = await asyncio.gather(*(executor.spawn(call, bench.events.append) for call in calls))
    for result in results:
        demand_success(result)
    distinct = {result.session_id for result in results}
    demand(len(distinct) == len(calls), "two parallel calls got the same session id")


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        has_a_name,
        does_the_work,
        passes_system_text,
        *dict.fromkeys(CLAIMS.values()),
        *MORE_CHECKS,
        never_replaces_a_session_silently,
        reports_missing_program,
        rejects_empty_answer,
        stops_in_time,
        leaves_nothing_when_cancelled,
        shares_nothing_between_calls,
    )
}

"""What every executor must do, and what it must do when it claims to. For Ostler's own and for yours:

    complaints = asyncio.run(check_conformance(Subject(make=lambda: MyExecutor(...)), tmp_path))
    assert complaints == []

The prompts are such that a real model and the shipped fakes can both answer them.
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
    """Run every check in a directory of its own; the complaints, none when all is well."""
    complaints: list[str] = []
    for name in CHECKS:
        try:
            await run_check(name, subject, workspace / name)
        except NotConforming as complaint:
            complaints.append(f"{name}: {complaint}")
    return complaints


async def run_check(name: str, subject: Subject, workspace: Path) -> None:
    """Run one check; raises NotConforming."""
    await CHECKS[name](Bench(subject, workspace))


async def names_itself(bench: Bench) -> None:
    executor = bench.subject.make()
    demand(executor.name.strip(), "its name is blank")
    executor.validate_availability()


async def does_the_work(bench: Bench) -> None:
    call = bench.call(bench.subject.work)
    result = await bench.spawn(call)
    demand_success(result)
    well = 0 if bench.subject.starts_program else None
    demand(result.exit_code == well, f"success with exit code {result.exit_code}")
    demand(bench.events, "nothing was heard while it worked")
    demand(read_transcript(call), "the transcript is empty")
    _demand_returns(bench.events)


def _demand_returns(events: list[AgentEvent]) -> None:
    """A use that has a number is told before its result, and has one."""
    waiting: set[str] = set()
    for event in events:
        if isinstance(event, ToolUsed) and event.id:
            waiting.add(event.id)
        elif isinstance(event, ToolReturned):
            demand(event.id in waiting or not event.id, f"{event.id!r:.80} returned and was not used")
            waiting.discard(event.id)
    demand(not waiting, f"nothing was heard of what {', '.join(sorted(waiting))[:80]} returned")


async def heeds_the_system_text(bench: Bench) -> None:
    """What the agent is told about itself reaches it as its session begins, and is not forgotten."""
    subject = bench.subject
    first = await bench.spawn(bench.call(subject.recall, system=subject.remember))
    demand_success(first)
    demand(subject.word in first.text, f"the system text did not reach it: {first.text!r:.200}")
    if bench.claims.resumes:
        call = bench.call(subject.recall, before=first, system=subject.remember)
        second = await bench.resume(call)
        demand(subject.word in second.text, f"the system text is forgotten: {second.text!r:.200}")


async def never_replaces_a_session_silently(bench: Bench) -> None:
    if not (bench.claims.resumes and bench.subject.keeps_sessions):
        return
    result = await bench.resume(bench.call(bench.subject.work))
    _demand_told(bench, result, Code.SESSION_NOT_FOUND, resumed=False)
    if not (bench.claims.takes_our_id and bench.subject.refuses_taken_ids):
        return
    bench.events.clear()
    again = await bench.spawn(bench.call(bench.subject.work, session=result.session_id))
    _demand_told(bench, again, Code.SESSION_IN_USE, resumed=True)


def _demand_told(bench: Bench, result: CallResult, code: Code, *, resumed: bool) -> None:
    told = SessionReplaced(result.session_id, resumed) in bench.events
    demand(told or result.code is code, f"neither SessionReplaced nor {code} was told, but {result.code}")


async def says_when_it_is_missing(bench: Bench) -> None:
    if bench.subject.make_missing is None:
        return
    result = await bench.spawn(bench.call(bench.subject.work), bench.subject.make_missing)
    demand(result.code is Code.AGENT_NOT_FOUND, f"without its program it gave {result.code}")
    try:
        bench.subject.make_missing().validate_availability()
    except AgentUnavailable as error:
        demand(error.hint, "it does not say how it is installed")
        return
    raise NotConforming("without its program it says that it is available")


async def does_not_take_silence_for_success(bench: Bench) -> None:
    if bench.subject.make_empty is not None:
        result = await bench.spawn(bench.call(bench.subject.work), bench.subject.make_empty)
        demand(result.code is Code.RESPONSE_EMPTY, f"an empty answer gave {result.code}")


async def stops_in_time(bench: Bench) -> None:
    if bench.subject.make_hanging is not None:
        call = bench.call(bench.subject.work, timeout_seconds=0.5)
        result = await bench.spawn(call, bench.subject.make_hanging)
        demand(result.code is Code.TIMEOUT, f"after its time it gave {result.code}")
        demand(not bench.processes(), "a process outlived the timeout")


async def leaves_nothing_when_cancelled(bench: Bench) -> None:
    if bench.subject.make_hanging is None:
        return
    running = asyncio.create_task(bench.spawn(bench.call(bench.subject.work), bench.subject.make_hanging))
    while not bench.is_working() and not running.done():  # noqa: ASYNC110  (a process appears without a word)
        await asyncio.sleep(0.02)
    running.cancel()
    ended = (await asyncio.gather(running, return_exceptions=True))[0]
    demand(isinstance(ended, asyncio.CancelledError), f"cancelling it gave {ended!r:.200}")
    demand(not bench.processes(), "a process outlived the cancellation")


async def shares_nothing_between_calls(bench: Bench) -> None:
    executor = bench.subject.make()
    calls = [bench.call(bench.subject.work) for _ in range(4)]
    results = await asyncio.gather(*(executor.spawn(call, bench.events.append) for call in calls))
    for result in results:
        demand_success(result)
    distinct = {result.session_id for result in results}
    demand(len(distinct) == len(calls), "two calls at once got the same session")


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        names_itself,
        does_the_work,
        heeds_the_system_text,
        *dict.fromkeys(CLAIMS.values()),
        *MORE_CHECKS,
        never_replaces_a_session_silently,
        says_when_it_is_missing,
        does_not_take_silence_for_success,
        stops_in_time,
        leaves_nothing_when_cancelled,
        shares_nothing_between_calls,
    )
}

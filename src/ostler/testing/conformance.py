"""What every executor must do, and what it must do when it claims to. For Ostler's own and for yours:

    complaints = asyncio.run(check_conformance(Subject(make=lambda: MyExecutor(...)), tmp_path))
    assert complaints == []

The prompts are such that a real model and the shipped fakes can both answer them.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
from msgspec import Struct

from ostler.errors import AgentUnavailable, Code
from ostler.executors.protocol import Executor
from ostler.model.call import AgentCall, AgentEvent, CallResult, SessionReplaced
from ostler.model.usage import Usage

Make = Callable[[], Executor]


class Subject(Struct, frozen=True):
    """An executor to check, the same one misbehaving, and what to say to it."""

    make: Make
    make_missing: Make | None = None  # its program is not there
    make_hanging: Make | None = None  # it works for ever
    make_empty: Make | None = None  # it ends well and says nothing
    keeps_sessions: bool = True  # false: whether a session exists is the program's own affair
    refuses_taken_ids: bool = True  # false: it resumes what it was told to begin, without a word
    starts_program: bool = True  # false: it works within this process, and has no exit code
    work: str = "Make one small change in this directory, then say that you are done."
    remember: str = "Remember the word osprey. Answer with OK."
    recall: str = "Which word did I ask you to remember? Answer with that word."
    word: str = "osprey"
    model: str = ""  # for those that have no default
    env: dict[str, str] = {}  # what the program needs besides PATH and HOME


class NotConforming(AssertionError):
    """The executor breaks a promise; the message says which."""


class Bench:
    """A workspace, and calls into it."""

    def __init__(self, subject: Subject, workspace: Path) -> None:
        self.subject = subject
        self.events: list[AgentEvent] = []
        self.marker = str(uuid.uuid4())
        self._places = (workspace / "work", workspace / "transcripts")
        for place in self._places:
            place.mkdir(parents=True, exist_ok=True)

    def call(
        self, prompt: str, session: str = "", before: CallResult | None = None, **more: float
    ) -> AgentCall:
        """A call in this workspace; `before` is the result that it continues."""
        session = session or (before.session_id if before else str(uuid.uuid4()))
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return AgentCall(
            agent="implementer",
            prompt=prompt,
            session_id=session,
            model=self.subject.model,
            cwd=str(self._places[0]),
            env={**inherited, **self.subject.env, "OSTLER_ATTEMPT": self.marker},
            transcript=str(self._places[1] / f"{uuid.uuid4()}.jsonl"),
            session_cost_usd=(before and before.session_cost_usd) or 0.0,
            session_usage=(before and before.session_usage) or Usage(),
            timeout_seconds=more.get("timeout_seconds", 60.0),
            grace_seconds=1.0,
        )

    async def spawn(self, call: AgentCall, make: Make | None = None) -> CallResult:
        return await (make or self.subject.make)().spawn(call, self.events.append)

    async def resume(self, call: AgentCall) -> CallResult:
        return await self.subject.make().resume(call, self.events.append)

    def is_working(self) -> bool:
        """Whether what was started can be seen: its process or, without one, what it says."""
        return bool(self.processes() if self.subject.starts_program else self.events)

    def processes(self) -> list[int]:
        """Everything alive that carries this bench's marker."""
        return [process.pid for process in psutil.process_iter() if _marker_of(process) == self.marker]


Check = Callable[[Bench], Awaitable[None]]


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


def _demand(holds: object, message: str) -> None:
    if not holds:
        raise NotConforming(message)


def _demand_success(result: CallResult) -> None:
    _demand(result.ok, f"a plain call ended with {result.code}: {result.message}")


async def names_itself(bench: Bench) -> None:
    executor = bench.subject.make()
    _demand(executor.name.strip(), "its name is blank")
    executor.validate_availability()


async def does_the_work(bench: Bench) -> None:
    call = bench.call(bench.subject.work)
    result = await bench.spawn(call)
    _demand_success(result)
    well = 0 if bench.subject.starts_program else None
    _demand(result.exit_code == well, f"success with exit code {result.exit_code}")
    _demand(result.text.strip() or not bench.subject.make().capabilities.speaks, "success without a text")
    _demand(bench.events, "nothing was heard while it worked")
    _demand(_size(call.transcript), "the transcript is empty")


async def keeps_its_claims(bench: Bench) -> None:
    claims = bench.subject.make().capabilities
    call = bench.call(bench.subject.work)
    result = await bench.spawn(call)
    _demand(result.session_id == call.session_id or not claims.takes_our_id, "it did not take our session id")
    _demand(result.usage.total > 0 or not claims.reports_usage, "it claims to report usage and reported none")
    _demand(result.cost_usd is not None or not claims.reports_cost, "it claims to report cost and did not")
    _demand(result.cost_usd is None or claims.reports_cost, "it reports cost without claiming to")


async def resumes_or_says_no(bench: Bench) -> None:
    first = await bench.spawn(bench.call(bench.subject.remember))
    second = await bench.resume(bench.call(bench.subject.recall, before=first))
    if not bench.subject.make().capabilities.resumes:
        _demand(second.code is Code.RESUME_UNSUPPORTED, f"resume without the capability gave {second.code}")
        return
    _demand_success(second)
    _demand(bench.subject.word in second.text, f"the session's history is gone: {second.text!r:.200}")
    _demand(second.session_id == first.session_id, "the session id changed")


async def counts_cost_once(bench: Bench) -> None:
    if not bench.subject.make().capabilities.reports_cost:
        return
    first = await bench.spawn(bench.call(bench.subject.remember))
    second = await bench.resume(bench.call(bench.subject.recall, before=first))
    costs, total = (first.cost_usd or 0.0) + (second.cost_usd or 0.0), second.session_cost_usd or 0.0
    _demand(abs(costs - total) < 1e-9, f"the attempts cost {costs} and the session {total}")


async def counts_usage_once(bench: Bench) -> None:
    first = await bench.spawn(bench.call(bench.subject.remember))
    second = await bench.resume(bench.call(bench.subject.recall, before=first))
    if second.session_usage is not None:
        used, total = first.usage + second.usage, second.session_usage
        _demand(used == total, f"the attempts used {used} and the session {total}")


async def never_replaces_a_session_silently(bench: Bench) -> None:
    if not (bench.subject.make().capabilities.resumes and bench.subject.keeps_sessions):
        return
    result = await bench.resume(bench.call(bench.subject.work))
    _demand_told(bench, result, Code.SESSION_NOT_FOUND, resumed=False)
    if not (bench.subject.make().capabilities.takes_our_id and bench.subject.refuses_taken_ids):
        return
    bench.events.clear()
    again = await bench.spawn(bench.call(bench.subject.work, session=result.session_id))
    _demand_told(bench, again, Code.SESSION_IN_USE, resumed=True)


def _demand_told(bench: Bench, result: CallResult, code: Code, *, resumed: bool) -> None:
    told = SessionReplaced(result.session_id, resumed) in bench.events
    _demand(told or result.code is code, f"neither SessionReplaced nor {code} was told, but {result.code}")


async def says_when_it_is_missing(bench: Bench) -> None:
    if bench.subject.make_missing is None:
        return
    result = await bench.spawn(bench.call(bench.subject.work), bench.subject.make_missing)
    _demand(result.code is Code.AGENT_NOT_FOUND, f"without its program it gave {result.code}")
    try:
        bench.subject.make_missing().validate_availability()
    except AgentUnavailable as error:
        _demand(error.hint, "it does not say how it is installed")
        return
    raise NotConforming("without its program it says that it is available")


async def does_not_take_silence_for_success(bench: Bench) -> None:
    if bench.subject.make_empty is not None:
        result = await bench.spawn(bench.call(bench.subject.work), bench.subject.make_empty)
        _demand(result.code is Code.RESPONSE_EMPTY, f"an empty answer gave {result.code}")


async def stops_in_time(bench: Bench) -> None:
    if bench.subject.make_hanging is not None:
        call = bench.call(bench.subject.work, timeout_seconds=0.5)
        result = await bench.spawn(call, bench.subject.make_hanging)
        _demand(result.code is Code.TIMEOUT, f"after its time it gave {result.code}")
        _demand(not bench.processes(), "a process outlived the timeout")


async def leaves_nothing_when_cancelled(bench: Bench) -> None:
    if bench.subject.make_hanging is None:
        return
    running = asyncio.create_task(bench.spawn(bench.call(bench.subject.work), bench.subject.make_hanging))
    while not bench.is_working() and not running.done():  # noqa: ASYNC110  (a process appears without a word)
        await asyncio.sleep(0.02)
    running.cancel()
    ended = (await asyncio.gather(running, return_exceptions=True))[0]
    _demand(isinstance(ended, asyncio.CancelledError), f"cancelling it gave {ended!r:.200}")
    _demand(not bench.processes(), "a process outlived the cancellation")


async def shares_nothing_between_calls(bench: Bench) -> None:
    executor = bench.subject.make()
    calls = [bench.call(bench.subject.work) for _ in range(4)]
    results = await asyncio.gather(*(executor.spawn(call, bench.events.append) for call in calls))
    for result in results:
        _demand_success(result)
    distinct = {result.session_id for result in results}
    _demand(len(distinct) == len(calls), "two calls at once got the same session")


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        names_itself,
        does_the_work,
        keeps_its_claims,
        resumes_or_says_no,
        counts_cost_once,
        counts_usage_once,
        never_replaces_a_session_silently,
        says_when_it_is_missing,
        does_not_take_silence_for_success,
        stops_in_time,
        leaves_nothing_when_cancelled,
        shares_nothing_between_calls,
    )
}


def _size(path: str) -> int:
    return Path(path).stat().st_size


def _marker_of(process: psutil.Process) -> str:
    try:
        return process.environ().get("OSTLER_ATTEMPT", "")
    except (psutil.Error, OSError):
        return ""

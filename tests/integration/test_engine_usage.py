"""The usage and cost of a task are the sum of its attempts, however they ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostler.clock import SystemClock
from ostler.engine.core.evolve import fold
from ostler.engine.steps.services import StepServices, lock_path
from ostler.engine.task_runner import TaskRunner
from ostler.errors import Code
from ostler.files.lock import try_lock
from ostler.model.attempt import Attempt
from ostler.model.call import AgentCall, CallResult, OnEvent, UsageReported
from ostler.model.event import Event, GateDecided
from ostler.model.ids import TaskId
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.status import TERMINAL, TaskStatus
from ostler.model.task import Task
from ostler.model.usage import Usage
from ostler.project.agents.call_services import create_call_services
from ostler.project.project import Project
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.store.sql_ledger import SqlLedger
from ostler.store.writer import GroupWriter
from ostler.testing.mocks import MockExecutor
from ostler.views.task import TaskView

ACTS = ("well", "no", "unreadable", "unpriced", "error", "limit", "blocked", "kill", "stop", "cancel")
ENVIRON = {
    "OSTLER_GATES__DEFAULT": "ai",
    "OSTLER_PHASES__PLANS__TRIVIAL": '["implement", "test"]',
    "OSTLER_RETRY__BASE_DELAY_SECONDS": "0.001",
    "OSTLER_RETRY__MAX_RETRIES": "1",
    "OSTLER_HOST__START_STAGGER_SECONDS": "0",
}
YES = '{"verdict": "approved", "reason": "fine", "findings": []}'
NO = '{"verdict": "rejected", "reason": "not fine", "findings": []}'
USED = Usage(100, 20, 7, 3)


class Killed(BaseException):
    """The run was killed before it recorded its last result."""


class History:
    """A task and the scripted result of each attempt; attempts after the script succeed."""

    def __init__(self, directory: Path, acts: list[str]) -> None:
        self.project = Project.open(directory, ENVIRON, create=True)
        self.task = self.project.add(Task("Greet", weight="trivial")).id
        self.acts = list(acts)
        self.stop: Callable[[], None] = lambda: None

    def replay(self, see: Callable[[bool], None]) -> None:
        """Run the task until it has ended; call `see` after each run with whether it was killed."""
        for number in range(len(self.acts) + 3):
            see(asyncio.run(self._run(number)))
            status = self.project.show(self.task).status
            if status in (TaskStatus.COMPLETED, TaskStatus.CANCELLED):
                return
            if status in TERMINAL or status in (TaskStatus.BLOCKED, TaskStatus.PAUSED):
                self.project.act(self.task, "retry")
        raise AssertionError("the task did not end")

    async def _run(self, number: int) -> bool:
        writer = self.project.store.open_writer()
        ledger = self.project.store.open_ledger()
        tools = self._tools(writer, ledger, f"run-{number}")
        held = try_lock(lock_path(self.project.state(self.task), tools))
        assert held is not None
        carrier = TaskRunner(self.task, held, tools)
        self.stop = carrier.stop
        try:
            await carrier.run()
        except Killed:
            return True
        finally:
            await writer.close()
            ledger.close()
        return False

    def _tools(self, writer: GroupWriter, ledger: SqlLedger, run: str) -> StepServices:
        executor = MockExecutor(spawn_function=self._act, resume_function=self._act)
        stable = create_call_services(self.project, ledger, SqliteAccounts(None), SystemClock(), None)
        return StepServices(
            settings=self.project.settings,
            layout=self.project.layout,
            repository=None,
            journal=self.project.journal,
            writer=writer,
            store=self.project.store,
            clock=SystemClock(),
            environ={},
            make_executor=lambda choice, lock: executor,
            pool_for=lambda task: ModelPool(
                (ModelConfig(run, "mock", account=run),)
            ),  # no earlier limit holds
            get_call_services=lambda: stable,
            on_completed=lambda task, state: (),
            run=run,
        )

    async def _act(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        act = self.acts.pop(0) if self.acts else "well"
        on_event(UsageReported(USED))
        if act == "kill":
            raise Killed
        if act in ("stop", "cancel"):
            await self._leave(act)
        code = {"error": Code.API_ERROR, "limit": Code.QUOTA_EXCEEDED}.get(act)
        text = _judgement(act) if "Review the phase" in call.prompt else _answer(act)
        cost = None if act == "unpriced" else 0.07
        wait = 3600.0 if act == "limit" else None
        return CallResult(
            code, act, text, session_id=call.session_id, usage=USED, cost_usd=cost, retry_after_seconds=wait
        )

    async def _leave(self, act: str) -> None:
        if act == "cancel":
            self.project.act(self.task, "cancel")
        self.stop()
        await asyncio.sleep(60)
        raise AssertionError("the agent was not stopped")


def _answer(act: str) -> str:
    if act == "blocked":
        return "<phase_blocked>I need the password</phase_blocked>"
    return "Done.\n\n<phase_complete>true</phase_complete>"


def _judgement(act: str) -> str:
    return {"no": NO, "unreadable": "well, well"}.get(act, YES)


def sums(attempts: list[Attempt]) -> tuple[Usage, float]:
    """The usage of all attempts, and their known cost."""
    return sum((one.usage for one in attempts), Usage()), sum(one.cost_usd or 0.0 for one in attempts)


def expected(view: TaskView, spent: tuple[Usage, float]) -> bool:
    return view.usage == spent[0] and view.cost_usd == (pytest.approx(spent[1]) if spent[1] else None)


def check(history: History, killed: bool) -> None:
    """The task shows the sums, and so does the list unless the run was killed."""
    project, task = history.project, TaskId(history.task)
    spent = sums(project.journal.attempts(task))
    shown = project.show(task)
    assert expected(shown, spent), (shown.usage, shown.cost_usd, spent)
    (listed,) = project.tasks()
    assert killed or expected(listed, spent), (listed.usage, listed.cost_usd, spent)
    assert fold(project.journal.read(task)) == project.state(task)


@pytest.mark.full
@settings(max_examples=25, deadline=None, derandomize=True)
@given(acts=st.lists(st.sampled_from(ACTS), max_size=9))
def test_the_task_costs_what_its_attempts_cost(
    tmp_path_factory: pytest.TempPathFactory, acts: list[str]
) -> None:
    """Calls, gates, retries, limits, kills and stops occur in any order."""
    history = History(tmp_path_factory.mktemp("history"), acts)
    with history.project:
        history.replay(lambda killed: check(history, killed))


@pytest.mark.parametrize(
    "acts",
    [
        ["well", "well"],
        ["well", "no", "well", "well"],
        ["well", "unreadable", "unreadable"],
        ["well", "unreadable", "kill"],
        ["well", "unreadable", "stop"],
        ["well", "unreadable", "cancel"],
        ["well", "unreadable", "limit"],
        ["well", "error", "kill", "cancel"],
        ["error", "kill", "cancel"],
        ["error", "stop"],
    ],
)
@pytest.mark.sampled(3)
def test_a_gate_is_paid_for(tmp_path: Path, acts: list[str]) -> None:
    """The usage of a call and of its gate is recorded once."""
    history = History(tmp_path, acts)
    with history.project:
        history.replay(lambda killed: check(history, killed))


def test_what_an_older_version_wrote_costs_nothing_more() -> None:
    """An event without usage is decoded as zero usage, and encoded as before."""
    old = b'{"type":"gate_decided","phase":"test","gate":"ai","verdict":"pass"}'
    event = msgspec.json.decode(old, type=Event)
    assert isinstance(event, GateDecided) and (event.usage, event.cost_usd) == (Usage(), None)
    assert msgspec.json.encode(event) == old

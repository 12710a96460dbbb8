"""An AgentCaller on virtual time: scripted models, a real ledger, and the order of the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from random import Random

from ostler.calls.attempts.attempt import AttemptRunner
from ostler.calls.attempts.journal import MemoryAttemptJournal
from ostler.calls.attempts.session import AgentSession
from ostler.calls.call import AgentCaller
from ostler.calls.host import Host
from ostler.calls.models.availability import ModelAvailability
from ostler.calls.models.selector import ModelSelector
from ostler.calls.models.slots import WorkerPool
from ostler.calls.plugins import PluginRegistry
from ostler.calls.request import CallOutcome, CallRequest
from ostler.calls.services import CallServices
from ostler.calls.spending.budget import BudgetGuard
from ostler.config.settings import (
    HostSettings,
    LimitsSettings,
    RetrySettings,
    SandboxSettings,
    SelectionSettings,
    Settings,
)
from ostler.errors import AgentUnavailable, Code
from ostler.executors.protocol import Capabilities
from ostler.model.attempt import Attempt
from ostler.model.call import AgentCall, CallResult, LimitReported, OnEvent, TextReceived
from ostler.model.ids import TaskId
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.usage import Usage
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore
from ostler.testing.mocks import MockExecutor
from ostler.testing.virtual_clock import VirtualClock

PLAIN = RetrySettings(jitter=0.0)


def ok(text: str = "done") -> CallResult:
    return CallResult(None, text=text, session_id="s", usage=Usage(10, 5), cost_usd=0.01)


def fails(code: Code, retry_after: float | None = None, cost: float | None = None) -> CallResult:
    return CallResult(
        code, message=f"it said {code}", retry_after_seconds=retry_after, duration_seconds=5.0, cost_usd=cost
    )


def select_session(executor: str, resumes: bool, attempts: list[Attempt]) -> AgentSession:
    """Return the last session of the executor, as the engine does within a phase."""
    used = [one for one in attempts if one.executor == executor and one.session_id]
    return AgentSession(used[-1].session_id if used else f"id-of-{executor}", started=bool(used) and resumes)


class Models:
    """Scripted models by name, and the order in which they were called."""

    def __init__(self, clock: VirtualClock, **scripts: list[CallResult]) -> None:
        self.clock = clock
        self.scripts = scripts
        self.calls: list[tuple[str, float]] = []
        self.requests: list[tuple[str, AgentCall, bool]] = []  # model, request, whether it is resumed
        self.missing: set[str] = set()
        self.seconds = 0.0  # how long each call takes

    def make(self, choice: ModelConfig) -> MockExecutor:
        def validate() -> None:
            if choice.name in self.missing:
                raise AgentUnavailable(f"{choice.executor} was not found", "install it")

        async def spawn(call: AgentCall, on_event: OnEvent) -> CallResult:
            return await run(call, on_event, resumed=False)

        async def resume(call: AgentCall, on_event: OnEvent) -> CallResult:
            return await run(call, on_event, resumed=True)

        async def run(call: AgentCall, on_event: OnEvent, *, resumed: bool) -> CallResult:
            self.calls.append((choice.name, self.clock.monotonic()))
            self.requests.append((choice.name, call, resumed))
            script = self.scripts[choice.name]
            result = script.pop(0) if len(script) > 1 else script[0]
            await self.clock.sleep(self.seconds)
            if result.windows:
                on_event(LimitReported(result.windows))
            if result.text:
                on_event(TextReceived(result.text))
            return result

        capabilities = Capabilities(resumes=True, accepts_session_id=True, reports_cost=True)
        return MockExecutor(choice.executor, capabilities, spawn, resume, validate)

    @property
    def order(self) -> list[str]:
        return [name for name, _ in self.calls]


class Bench:
    """An AgentCaller on virtual time with a real ledger."""

    def __init__(
        self,
        home: Path,
        settings: Settings,
        *,
        clock: VirtualClock | None = None,
        project: str = "",
        **scripts: list[CallResult],
    ) -> None:
        self.clock = clock or VirtualClock()
        self.settings = settings  # [limits] may be replaced between two calls
        self.models = Models(self.clock, **scripts)
        self.home = home
        if not (home / "l.db").exists():
            SqliteJournal(home / "l.db", create=True).close()
        self.ledger = SqliteStore(home / "l.db").open_ledger()
        self.accounts = SqliteAccounts(home / "limits.db")
        self.journal = MemoryAttemptJournal()
        services = CallServices(
            selector=ModelSelector(settings.selection.strategy, Random(1)),
            slots=WorkerPool(settings.pools, self.clock),
            host=Host(settings.host, self.clock, lambda: None),
            availability=ModelAvailability(
                self.ledger,
                self.accounts,
                settings.retry,
                self.clock,
                project=project,
                read_settings=lambda: self.settings,
            ),
            budget_guard=BudgetGuard(settings.budget, self.clock, lambda: self.journal),
            plugins=PluginRegistry(),
        )
        attempts = AttemptRunner(settings, {}, self.journal, self.clock, "run", str(home))
        self.caller = AgentCaller(settings, self.models.make, attempts, services, self.clock)

    def call(
        self, *choices: ModelConfig, task: str = "t-0001", key: str = "k", **more: object
    ) -> CallOutcome:
        return asyncio.run(self.run(*choices, task=task, key=key, **more))

    async def run(
        self,
        *choices: ModelConfig,
        task: str = "t-0001",
        key: str = "k",
        attempts: Sequence[Attempt] = (),
        **more: object,
    ) -> CallOutcome:
        async def fresh(executor: str, failure: str, attempts: list[Attempt]) -> str:
            return f"anew {failure}"

        order = CallRequest(
            task=TaskId(task),
            key=key,
            phase="implement",
            iteration=1,
            role="implementer",
            pool=ModelPool(choices),
            cwd=str(self.home),
            task_dir=self.home,
            attempts=list(attempts),
            select_session=select_session,
            build_prompt=lambda continues, failure: f"do it {failure}",
            build_fresh_prompt=fresh,
            **more,  # type: ignore[arg-type]
        )
        return await self.caller.run(order)


def settings(
    retry: RetrySettings = PLAIN, strategy: str = "priority", limits: LimitsSettings | None = None
) -> Settings:
    return Settings(
        retry=retry,
        limits=limits or LimitsSettings(),
        selection=SelectionSettings(strategy=strategy),  # type: ignore[arg-type]
        host=HostSettings(start_stagger_seconds=0.0),
        sandbox=SandboxSettings(tier="supervised"),
    )

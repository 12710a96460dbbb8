"""What the steps of a task depend on, with a function as the agent."""

from __future__ import annotations

from ostler.clock import SystemClock
from ostler.config.settings import Settings
from ostler.engine.steps.services import StepServices
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.project.agents.call_services import create_call_services
from ostler.project.project import Project
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.store.writer import GroupWriter
from ostler.testing.mocks import CallFunction, MockExecutor


def make_services(project: Project, writer: GroupWriter, work: CallFunction) -> StepServices:
    return StepServices(
        settings=Settings(),
        layout=project.layout,
        repository=project.repository(),
        journal=project.journal,
        writer=writer,
        store=project.store,
        clock=SystemClock(),
        environ={},
        make_executor=lambda choice, lock: MockExecutor(spawn_function=work),
        pool_for=lambda task: ModelPool((ModelConfig("mock", "mock"),)),
        get_call_services=lambda: create_call_services(
            project,
            project.store.open_ledger(),
            SqliteAccounts(None),
            SystemClock(),
            None,
        ),
        on_completed=lambda task, state: (),
        run="ours",
    )

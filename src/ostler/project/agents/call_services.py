"""Creates the services that all calls of a run share."""

from __future__ import annotations

from functools import cache
from random import Random

from ostler.calls.debugger import Debugger
from ostler.calls.host import Host
from ostler.calls.models.availability import ModelAvailability
from ostler.calls.models.readiness import ModelReadiness
from ostler.calls.models.selector import ModelSelector
from ostler.calls.models.slots import WorkerPool
from ostler.calls.plugins import load_plugins
from ostler.calls.self_healing import create_self_healing
from ostler.calls.services import CallServices
from ostler.calls.spending.budget import BudgetGuard
from ostler.clock import Clock
from ostler.config.settings import Settings
from ostler.project.project import Project
from ostler.store.accounts.ledger import AccountLedger
from ostler.store.ledger import Ledger
from ostler.store.spending import SpendingReader


def create_call_services(
    project: Project,
    ledger: Ledger,
    accounts: AccountLedger,
    clock: Clock,
    debugger: Debugger | None,
    readiness: ModelReadiness | None = None,
) -> CallServices:
    settings = project.settings

    @cache
    def spending() -> SpendingReader:
        return project.store.open_spending()

    slots = WorkerPool(settings.pools, clock)
    return CallServices(
        selector=ModelSelector(settings.selection.strategy, Random(), ledger),  # noqa: S311
        slots=slots,
        host=Host(settings.host, clock),
        availability=create_availability(project, ledger, accounts, clock),
        budget_guard=BudgetGuard(settings.budget, clock, spending),
        plugins=load_plugins(settings.plugins, root=project.layout.root),
        debugger=debugger,
        self_healing=create_self_healing(settings.retry, slots),
        readiness=readiness,
    )


def apply_settings(services: CallServices, settings: Settings) -> None:
    """Let calls that start from now on use changed settings; plugins and self-healing stay as they are."""
    services.selector.strategy = settings.selection.strategy
    services.slots.apply(settings.pools)
    services.host.settings = settings.host
    services.availability.apply(settings.retry)


def create_availability(
    project: Project, ledger: Ledger, accounts: AccountLedger, clock: Clock
) -> ModelAvailability:
    return ModelAvailability(
        ledger,
        accounts,
        project.settings.retry,
        clock,
        project=str(project.layout.root),
        read_settings=lambda: project.settings,
    )

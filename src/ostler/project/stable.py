"""Makes what all calls of a run share, from a project's settings and its store."""

from __future__ import annotations

from functools import cache
from random import Random

from ostler.clock import Clock
from ostler.project.project import Project
from ostler.store.ledger import Ledger
from ostler.store.spending import Spending
from ostler.worker.debugger import Debugger
from ostler.worker.healing import healer_for
from ostler.worker.host import Host
from ostler.worker.plugins import load_plugins
from ostler.worker.purse import Purse
from ostler.worker.selector import ModelSelector
from ostler.worker.slots import WorkerPool
from ostler.worker.stable import Stable
from ostler.worker.standing import Standing


def make_stable(project: Project, ledger: Ledger, clock: Clock, debugger: Debugger | None) -> Stable:
    settings = project.settings

    @cache
    def spending() -> Spending:
        return Spending(project.layout.database)

    slots = WorkerPool(settings.pools, clock)
    return Stable(
        selector=ModelSelector(settings.selection.strategy, Random()),  # noqa: S311
        slots=slots,
        host=Host(settings.host, clock),
        standing=Standing(ledger, settings.retry, clock),
        purse=Purse(settings.budget, clock, spending),
        plugins=load_plugins(settings.plugins),
        debugger=debugger,
        healer=healer_for(settings.retry, slots),
    )

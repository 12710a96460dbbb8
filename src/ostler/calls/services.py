"""The services that all calls of a run share."""

from __future__ import annotations

from msgspec import Struct

from ostler.calls.availability import ModelAvailability
from ostler.calls.budget import BudgetGuard
from ostler.calls.debugger import Debugger
from ostler.calls.host import Host
from ostler.calls.plugins import PluginRegistry
from ostler.calls.selector import ModelSelector
from ostler.calls.self_healing import SelfHealing
from ostler.calls.slots import WorkerPool


class CallServices(Struct, frozen=True):
    """Created once per run and passed to every call; none of it is global."""

    selector: ModelSelector
    slots: WorkerPool
    host: Host
    availability: ModelAvailability
    budget_guard: BudgetGuard
    plugins: PluginRegistry
    debugger: Debugger | None = None
    self_healing: SelfHealing | None = None  # None: retry.self_healing is off

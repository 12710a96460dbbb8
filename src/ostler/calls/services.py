"""The services that all calls of a run share."""

from __future__ import annotations

from msgspec import Struct, field

from ostler.calls.attempts.running import RunningAttempts
from ostler.calls.debugger import Debugger
from ostler.calls.decision_log import DecisionLog
from ostler.calls.host import Host
from ostler.calls.models.availability import ModelAvailability
from ostler.calls.models.readiness import ModelReadiness
from ostler.calls.models.selector import ModelSelector
from ostler.calls.models.slots import WorkerPool
from ostler.calls.plugins import PluginRegistry
from ostler.calls.self_healing import SelfHealing
from ostler.calls.spending.budget import BudgetGuard


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
    running: RunningAttempts = field(default_factory=RunningAttempts)
    log: DecisionLog = DecisionLog(None)
    readiness: ModelReadiness | None = None  # None: models are not checked before a run

"""What all calls of a run share."""

from __future__ import annotations

from msgspec import Struct

from ostler.worker.debugger import Debugger
from ostler.worker.healing import Healer
from ostler.worker.hooks import PluginRegistry
from ostler.worker.host import Host
from ostler.worker.purse import Purse
from ostler.worker.selector import ModelSelector
from ostler.worker.slots import WorkerPool
from ostler.worker.standing import Standing


class Stable(Struct, frozen=True):
    """Made once per run and handed to every call; nothing of it is global."""

    selector: ModelSelector
    slots: WorkerPool
    host: Host
    standing: Standing
    purse: Purse
    plugins: PluginRegistry
    debugger: Debugger | None = None
    healer: Healer | None = None  # none: retry.self_healing is off

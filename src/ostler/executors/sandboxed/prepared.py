"""What the sandbox of one attempt needs for its agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ostler.model.call import SandboxAccess

if TYPE_CHECKING:
    from ostler.sandbox.network.policy import ModelRoute


class PreparedAgent(Struct, frozen=True):
    """The route of an agent to its model, and what it does not get; empty without a sandbox."""

    route: ModelRoute | None = None  # None: its keys are in the sandbox, or it has none
    access: SandboxAccess = SandboxAccess()
    left_out: tuple[str, ...] = ()  # files of the user's home directory that the agent reads and does not get
    warnings: tuple[str, ...] = ()

"""Which models passed the checks at the start of a run, as calls ask for it."""

from __future__ import annotations

from typing import Protocol

from ostler.calls.models.availability import Unavailable
from ostler.model.policy.model_config import ModelConfig, ModelPool


class ModelReadiness(Protocol):
    """Leaves out models that are not ready while another model of the pool is."""

    async def wait_for(self, pool: ModelPool) -> None:
        """Wait until a model of the pool is ready, or until all of them were checked."""
        ...

    def check(self, model: ModelConfig, pool: ModelPool) -> Unavailable | None:
        """Return why a model is left out; None if it may be used."""
        ...

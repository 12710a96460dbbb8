"""The models of the settings."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import convert
from msgspec.structs import replace

from ostler.config.settings import Settings
from ostler.model.choice import Choice


def choices_of(settings: Settings) -> tuple[Choice, ...]:
    """Every one of the [[models]], in the order of the file."""
    rows = (convert(row, Choice, from_attributes=True) for row in settings.models)
    return tuple(replace(row, model=of_tier(row.model, settings.tiers)) for row in rows)


def of_tier(model: str, tiers: Mapping[str, str]) -> str:
    """The model that a tier stands for; any other name is a model already."""
    return tiers.get(model, model)

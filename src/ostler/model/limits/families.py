"""Families of models: some windows count only the models of one family, such as opus."""

from __future__ import annotations

from ostler.lazy import lazy_pattern
from ostler.model.limits.names import FAMILIES

_WORDS = lazy_pattern(r"[a-z0-9]+")


def find_families(model: str) -> tuple[str, ...]:
    """Return every family that a model may belong to: the words of its name, such as opus.

    The default model of an agent has no name, so it belongs to no family.
    """
    return tuple(dict.fromkeys(_WORDS.findall(model.lower())))


def is_in_family(model: str, family: str) -> bool:
    return family.lower() in find_families(model)


def is_in_other_family(model: str, family: str) -> bool:
    """Return whether the name of a model shows another family; the name of a default model shows none."""
    shown = [known for known in FAMILIES if is_in_family(model, known)]
    return bool(family and shown) and family not in shown

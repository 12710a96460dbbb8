"""The list of models in the form of each API."""

from __future__ import annotations

import re
from typing import Any

MODELS = ("fake-model", "fake-small-model")


def list_models(path: str) -> dict[str, Any] | None:
    """Return the list, or the model that the path names; None for any other path."""
    found = re.search(r"/models(?:/([^/:]+))?/?$", path)
    if found is None:
        return {} if path == "/" else None
    gemini = "v1beta" in path
    if found[1]:
        return _entry(found[1], gemini)
    entries = [_entry(name, gemini) for name in MODELS]
    if gemini:
        return {"models": entries}
    return {
        "object": "list",
        "data": entries,
        "has_more": False,
        "first_id": MODELS[0],
        "last_id": MODELS[-1],
    }


def _entry(name: str, gemini: bool) -> dict[str, Any]:
    if gemini:
        methods = ["generateContent", "countTokens"]
        return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
    return {
        "id": name,
        "type": "model",
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
        "object": "model",
        "created": 1_700_000_000,
        "owned_by": "ostler",
    }

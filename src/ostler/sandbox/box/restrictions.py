"""Starts a program that restricts itself first."""

from __future__ import annotations

import json
from typing import Any

from ostler.sandbox.box import restrict
from ostler.sandbox.box.bubblewrap import find_interpreter


def wrap_with_restrictions(specification: dict[str, Any]) -> tuple[str, ...]:
    """Return the arguments before those of the program; the keys are those of `restrict`."""
    return (find_interpreter(), "-I", "-S", restrict.__file__, json.dumps(specification))

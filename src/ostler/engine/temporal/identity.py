"""The name of a worker on the Temporal server: HOST:PID+LABEL,LABEL."""

from __future__ import annotations

import os
from collections.abc import Sequence


def name_worker(host: str, labels: Sequence[str]) -> str:
    """Return the name of a worker at the server; it has the labels, which no queue shows."""
    name = f"{host}:{os.getpid()}"
    return f"{name}+{','.join(labels)}" if labels else name


def read_worker_identity(identity: str) -> tuple[str, tuple[str, ...]]:
    """Return the name and the labels of a worker."""
    name, _, labels = identity.partition("+")
    return name, tuple(filter(None, labels.split(",")))

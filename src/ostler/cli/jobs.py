"""How many tasks run side by side: a number, or as many as fit this machine."""

from __future__ import annotations

import os

import click

from ostler.worker.host import USUAL_FOOTPRINT_MB, get_available_memory_mb

_AT_ONCE_PER_CORE = 2  # agents mostly wait for their provider


class _Jobs(click.ParamType[int]):
    name = "jobs"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "auto":
            return fitting()
        if not str(value).isascii() or not str(value).isdigit() or int(value) < 1:
            self.fail(f"{value!r} is neither a number from 1 on nor auto.", param, ctx)
        return int(value)


JOBS = _Jobs()


def fitting() -> int:
    """By cores, and by the memory that an agent usually takes."""
    cores = (os.cpu_count() or 1) * _AT_ONCE_PER_CORE
    available = get_available_memory_mb()
    room = cores if available is None else available // USUAL_FOOTPRINT_MB
    return max(1, min(cores, room))

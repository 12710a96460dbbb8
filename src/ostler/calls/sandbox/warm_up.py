"""Answers the questions of the first sandbox before its attempt starts."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from ostler.config.settings import SandboxSettings
from ostler.errors import OstlerError

THREAD = "sandbox-warm-up"
OUTSIDE = Path("/")  # where package tools are asked for a project that programs in the sandbox can write to


_started: set[tuple[str, str, str, Path]] = set()


def start_warm_up(settings: SandboxSettings, environ: Mapping[str, str], project: Path) -> None:
    """Run the self-test and find the package indexes, in the background: the first attempt needs both.

    Once: a later attempt of this process finds the answers, or asks again itself.
    """
    asked = (settings.tier, settings.network, settings.image, project)
    if settings.tier in ("supervised", "limits") or asked in _started:
        return
    _started.add(asked)
    questions = (settings, environ, project)
    threading.Thread(target=_warm_up, args=questions, name=THREAD, daemon=True).start()


def _warm_up(settings: SandboxSettings, environ: Mapping[str, str], project: Path) -> None:
    from ostler.sandbox.box.tiers import choose_tier  # noqa: PLC0415  (imported on use)

    try:
        chosen = choose_tier(settings.tier, environ, settings.network, settings.image)
    except OstlerError:
        return  # the attempt reports it
    if chosen.is_sandbox and settings.network == "proxy":
        from ostler.sandbox.network.indexes.find import find_indexes  # noqa: PLC0415  (imported on use)

        find_indexes(environ, project)

"""A loopwork CliExecutor with injected parts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ostler.compat import (
    CliExecutor,
    CliExecutorConfig,
    ILogger,
    IPluginRegistry,
    IProcessManager,
    ModelEntry,
)
from ostler.testing.virtual_clock import VirtualClock
from process_manager import Recorded

CLAUDE, OVERLOADED, LIMITED, REFUSED = (
    "claude/stream_tool_yolo",
    "claude/err_529",
    "claude/err_429_nora",
    "claude/err_401",
)
MODELS = (ModelEntry("first", model="m-1"), ModelEntry("second", model="m-2"))
FALLBACK = (ModelEntry("third", model="m-3"),)


@contextmanager
def injected(
    manager: IProcessManager, home: Path, parts: Recorded | None = None, **more: Any
) -> Iterator[CliExecutor]:
    """Return an executor with four injected parts."""
    parts = parts or Recorded()
    plugins: IPluginRegistry = parts
    logger: ILogger = parts
    config = more.pop("config", CliExecutorConfig(MODELS, FALLBACK))
    usual = {"home": home, "clock": VirtualClock(), "environ": {"HOME": str(home)}}
    made = CliExecutor(config, manager, plugins, logger, **(usual | more))
    try:
        yield made
    finally:
        made.close()


def execute(made: CliExecutor, prompt: str = "Do it.", **more: Any) -> Any:
    return asyncio.run(made.execute(prompt, cwd="/", **more)).result

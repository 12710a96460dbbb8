"""Notifications and telemetry of a run; neither delays the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Protocol

from ostler.clock import Clock
from ostler.engine.dependencies import list_unmet
from ostler.files.layout import Layout
from ostler.model.ids import TaskId
from ostler.project.agents.login import find_login_command
from ostler.project.project import Project
from ostler.store.feed_reader import feed_turn
from ostler.store.sql_journal import SqlJournal
from ostler.store.store import Store
from ostler.views.task import as_json, view_task

GRACE_SECONDS = 5.0  # for outstanding deliveries after the run
_EXTRA_SECONDS = 3.0  # additional time for a blocked thread
_READERS = ("notify", "telemetry")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_NO_EXTRA = "telemetry is off because its packages are missing: pip install 'ostler[otel]'"


class Exporter(Protocol):
    async def run(self) -> None:
        """Export new entries of the feed until cancelled."""
        ...

    async def finish(self, seconds: float) -> str:
        """Export the rest within this time and release resources; return a message if something is left."""
        ...


class Integrations:
    """The exporters of one run, each an asyncio task until `finish`; entries from now on are not missed."""

    def __init__(
        self,
        project: Project,
        environ: Mapping[str, str],
        clock: Clock,
        print_message: Callable[[str], None],
    ) -> None:
        self._project = project
        self._environ = environ
        self._clock = clock
        self._print_message = print_message
        self._start()

    async def apply_settings(self) -> None:
        """Start the exporters again if [[notify]] or [telemetry] changed."""
        if _read_settings(self._project) == self._settings:
            return
        try:
            await self.finish()
        finally:
            # Also after a cancellation: the run still ends with its last messages.
            self._start()

    async def finish(self) -> None:
        """End within seconds, even without an answer; the next run continues with the rest."""
        for task in self._tasks:
            task.cancel()
        errors = await asyncio.gather(*self._tasks, return_exceptions=True)
        messages = await asyncio.gather(*map(_finish_exporter, self._exporters), return_exceptions=True)
        for message in (*errors, *messages):
            if message and not isinstance(message, asyncio.CancelledError):
                self._print_message(str(message) or type(message).__name__)

    def _start(self) -> None:
        self._settings = _read_settings(self._project)
        self._exporters = _create_exporters(self._project, self._environ, self._clock, self._print_message)
        self._tasks = [asyncio.create_task(exporter.run()) for exporter in self._exporters]


def _read_settings(project: Project) -> tuple[object, ...]:
    """Return what the exporters depend on."""
    settings = project.settings
    return settings.notify, settings.telemetry, settings.sandbox.env_allow


async def _finish_exporter(exporter: Exporter) -> str:
    try:
        return await asyncio.wait_for(exporter.finish(GRACE_SECONDS), GRACE_SECONDS + _EXTRA_SECONDS)
    except TimeoutError:
        return "not everything could be exported in time; the next run continues"


def _create_exporters(
    project: Project, environ: Mapping[str, str], clock: Clock, print_message: Callable[[str], None]
) -> Collection[Exporter]:
    """Create the exporters of the settings and register their cursors."""
    exporters: dict[str, Exporter] = {}
    targets: list[str] = []
    if project.settings.notify:
        exporters["notify"], targets = _create_notifier(project, environ, clock)
    if (endpoint := _find_endpoint(project, environ)) is not None:
        exporters |= _create_tracer(endpoint, project, environ, clock, print_message)
    with project.store.open_outbox() as outbox:
        outbox.register({*exporters, *_active_readers(project.store)}, targets)
    return exporters.values()


def _active_readers(store: Store) -> list[str]:
    """Return the readers of other processes, whose environment may name another collector."""
    return [reader for reader in _READERS if store.turn(feed_turn(reader)).is_taken()]


def _create_notifier(
    project: Project, environ: Mapping[str, str], clock: Clock
) -> tuple[Exporter, list[str]]:
    from ostler.config.settings import NotifySettings  # noqa: PLC0415  (only needed with [[notify]])
    from ostler.notify.message import Target, target_id  # noqa: PLC0415
    from ostler.notify.program import CommandTarget  # noqa: PLC0415
    from ostler.notify.sender import NotificationSender  # noqa: PLC0415
    from ostler.notify.webhook import WebhookTarget  # noqa: PLC0415

    root, allow, entries = (
        str(project.layout.root),
        project.settings.sandbox.env_allow,
        project.settings.notify,
    )

    def make(entry: NotifySettings) -> Target:
        if entry.command:
            return CommandTarget(entry, root, environ, allow)
        return WebhookTarget(entry, environ, clock.now)

    describe = partial(_describe, project.layout)
    return NotificationSender(entries, make, describe, project.layout.root.name, project.store, clock), [
        target_id(entry) for entry in entries
    ]


def _describe(layout: Layout, journal: SqlJournal, task: TaskId) -> dict[str, object]:
    row = journal.row(task)
    assert row is not None
    unmet = list_unmet(row, journal.statuses(row.after))
    login = find_login_command(row, journal)
    locate = layout.worktree_of_record
    return as_json(view_task(row, journal.attempts(task), False, unmet, login, locate=locate), attempts=False)


def _find_endpoint(project: Project, environ: Mapping[str, str]) -> str | None:
    """Return the base URL of the collector; empty: that of the OTEL variables; None: telemetry is off."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    named = project.settings.telemetry.otlp_endpoint
    return named if named or any(environ.get(name) for name in _ENDPOINTS) else None


def _create_tracer(
    endpoint: str,
    project: Project,
    environ: Mapping[str, str],
    clock: Clock,
    print_message: Callable[[str], None],
) -> dict[str, Exporter]:
    from ostler.telemetry.traces import READER, TraceExporter, is_installed  # noqa: PLC0415

    if not is_installed():
        print_message(_NO_EXTRA)
        return {}
    return {READER: TraceExporter(endpoint, project.layout.root.name, project.store, clock, environ)}

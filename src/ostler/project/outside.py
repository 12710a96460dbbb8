"""What goes on beside a run: others are told what happens, and nothing of it holds the run up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from ostler.clock import Clock
from ostler.files.layout import Layout
from ostler.files.lock import is_locked
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.store.outbox import Outbox
from ostler.store.sqlite import SqliteJournal
from ostler.views.task import as_json, view_task

GRACE_SECONDS = 5.0  # for what is outstanding when the run is over
_STUCK_SECONDS = 3.0  # more, for a thread that does not come back
_READERS = ("notify", "telemetry")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_NO_EXTRA = "telemetry is off, as its packages are missing: pip install 'ostler[otel]'"


class Teller(Protocol):
    async def run(self) -> None:
        """Tell what is written to the feed, until it is cancelled."""
        ...

    async def finish(self, seconds: float) -> str:
        """Tell the rest in this time and let go of everything; a sentence when something is left."""
        ...


class Outside:
    """The tellers of one run, each a task of the event loop from `begin` to `finish`."""

    def __init__(self, tellers: Collection[Teller], tell: Callable[[str], None]) -> None:
        self._tellers = tellers
        self._tell = tell
        self._tasks = [asyncio.create_task(teller.run()) for teller in tellers]

    async def finish(self) -> None:
        """End within seconds, whoever does not answer; the next run goes on with what is left."""
        for task in self._tasks:
            task.cancel()
        bugs = await asyncio.gather(*self._tasks, return_exceptions=True)
        told = await asyncio.gather(*map(_finish, self._tellers), return_exceptions=True)
        for said in (*bugs, *told):
            if said and not isinstance(said, asyncio.CancelledError):
                self._tell(str(said) or type(said).__name__)


async def _finish(teller: Teller) -> str:
    try:
        return await asyncio.wait_for(teller.finish(GRACE_SECONDS), GRACE_SECONDS + _STUCK_SECONDS)
    except TimeoutError:
        return "others could not be told everything in time; the next run goes on with it"


def begin_telling(
    project: Project, environ: Mapping[str, str], clock: Clock, tell: Callable[[str], None]
) -> Outside:
    """Begin to tell whom the settings name; what is written from now on is not missed."""
    tellers: dict[str, Teller] = {}
    targets: list[str] = []
    if project.settings.notify:
        tellers["notify"], targets = _post(project, environ, clock)
    if (endpoint := _endpoint(project, environ)) is not None:
        tellers |= _traces(endpoint, project, clock, tell)
    with Outbox(project.layout.database) as outbox:
        outbox.enrol({*tellers, *_at_work(project.layout)}, targets)
    return Outside(tellers.values(), tell)


def _at_work(layout: Layout) -> list[str]:
    """The readers that another process has: its environment may name a collector that ours does not."""
    return [reader for reader in _READERS if is_locked(layout.feed_lock(reader))]


def _post(project: Project, environ: Mapping[str, str], clock: Clock) -> tuple[Teller, list[str]]:
    from ostler.config.settings import NotifySettings  # noqa: PLC0415  (only where someone is to be told)
    from ostler.notify.post import Post  # noqa: PLC0415
    from ostler.notify.program import Program  # noqa: PLC0415
    from ostler.notify.target import Target, name_of  # noqa: PLC0415
    from ostler.notify.webhook import Webhook  # noqa: PLC0415

    root, allow, entries = (
        str(project.layout.root),
        project.settings.sandbox.env_allow,
        project.settings.notify,
    )

    def make(entry: NotifySettings) -> Target:
        if entry.command:
            return Program(entry, root, environ, allow)
        return Webhook(entry, environ, clock.now)

    return Post(entries, make, _describe, project.layout, clock), [name_of(entry) for entry in entries]


def _describe(journal: SqliteJournal, task: TaskId) -> dict[str, object]:
    row = journal.row(task)
    assert row is not None
    return as_json(view_task(row, journal.attempts(task), abandoned=False), attempts=False)


def _endpoint(project: Project, environ: Mapping[str, str]) -> str | None:
    """The base of the collector; empty: as the variables of OpenTelemetry say; None: nothing is sent."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    named = project.settings.telemetry.otlp_endpoint
    return named if named or any(environ.get(name) for name in _ENDPOINTS) else None


def _traces(endpoint: str, project: Project, clock: Clock, tell: Callable[[str], None]) -> dict[str, Teller]:
    from ostler.telemetry.traces import READER, Traces, is_installed  # noqa: PLC0415

    if not is_installed():
        tell(_NO_EXTRA)
        return {}
    return {READER: Traces(endpoint, project.layout, clock)}

"""Saves the session of an agent for other hosts, and restores it on the one that continues the task."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from ostler.calls.attempts.session import AgentSession
from ostler.calls.request import CallRequest
from ostler.calls.sandbox.open import choose_sandbox
from ostler.calls.thread import run_in_thread
from ostler.engine.steps.services import StepServices
from ostler.engine.steps.workspaces.worktree import working_directory
from ostler.errors import OstlerError
from ostler.executors.registry import find_section, resolve_type
from ostler.files.layout import Layout
from ostler.model.attempt import Attempt
from ostler.model.event import TaskClaimed
from ostler.model.ids import TaskId
from ostler.model.policy.sandbox import is_confined
from ostler.model.state import State

if TYPE_CHECKING:
    from ostler.blobs.blobs import Blobs

_log = logging.getLogger(__name__)


def find_host(attempt: Attempt, services: StepServices) -> str:
    """Return the host on which an attempt ran."""
    events = (record.event for record in services.journal.read(attempt.task))
    hosts = {event.run: event.host for event in events if isinstance(event, TaskClaimed)}
    return hosts.get(attempt.owner, "")


def has_moved(attempts: list[Attempt], services: StepServices) -> bool:
    """Return whether the last attempt of a task ran on another host."""
    return (
        services.mover is not None and bool(attempts) and find_host(attempts[-1], services) != services.host
    )


def save_sessions(state: State, services: StepServices) -> None:
    """Save the last session of each executor of the phase; a session that is not saved costs a summary."""
    blobs = services.mover.blobs if services.mover else None
    if blobs is None:
        return
    own = [one for one in services.journal.attempts(state.task) if _is_saved(one, state, services)]
    for attempt in {one.executor: one for one in own}.values():
        try:
            _save(attempt, state, services, blobs)
        except (OstlerError, OSError) as error:
            _log.warning("the session of %s is not saved for other hosts: %s", attempt.executor, error)


def _is_saved(attempt: Attempt, state: State, services: StepServices) -> bool:
    is_own = attempt.owner == services.run and attempt.phase == state.current.id
    return is_own and bool(attempt.session_id)


def _save(attempt: Attempt, state: State, services: StepServices, blobs: Blobs) -> None:
    from ostler.executors.sessions import read_session  # noqa: PLC0415  (imported on use)

    in_sandbox = attempt.sandbox is not None and is_confined(attempt.sandbox.tier)
    home, env = _find_home(attempt.executor, in_sandbox, state.task, services)
    kind = resolve_type(attempt.executor, services.settings.executors)
    saved = read_session(kind, attempt.session_id, home, env, working_directory(state, services))
    if saved is not None:
        blobs.put(_name(attempt.task, attempt.executor, attempt.session_id, services), saved)


async def restore_sessions(request: CallRequest, services: StepServices) -> None:
    """Restore the sessions that the call can continue and that ran last on another host.

    One that is not there is replaced by a new session with a summary, as every lost session.
    """
    blobs = services.mover.blobs if services.mover else None
    if blobs is None or not request.attempts:
        return
    chosen = await choose_sandbox(services.settings.sandbox, services.environ)
    for executor in dict.fromkeys(model.executor for model in request.pool.models):
        session = request.select_session(executor, True, request.attempts)
        if _is_elsewhere(session, request.attempts, services):
            home = _find_home(executor, chosen.is_sandbox, request.task, services)
            await run_in_thread(_restore, executor, session.id, home, request, services, blobs)


def _is_elsewhere(session: AgentSession, attempts: list[Attempt], services: StepServices) -> bool:
    last = next((one for one in reversed(attempts) if one.session_id == session.id), None)
    return session.started and last is not None and find_host(last, services) != services.host


def _restore(
    executor: str,
    session: str,
    home: tuple[Path, dict[str, str]],
    request: CallRequest,
    services: StepServices,
    blobs: Blobs,
) -> None:
    from ostler.executors.sessions import SESSION_PLACES, write_session  # noqa: PLC0415  (imported on use)

    kind = resolve_type(executor, services.settings.executors)
    if kind not in SESSION_PLACES:
        return
    try:
        saved = blobs.read(_name(request.task, executor, session, services))
        if saved is not None:
            write_session(kind, saved, *home, Path(request.cwd))
    except (OstlerError, OSError) as error:
        _log.warning("the session of %s is not restored: %s", executor, error)


def _find_home(
    executor: str, in_sandbox: bool, task: TaskId, services: StepServices
) -> tuple[Path, dict[str, str]]:
    """Return the home directory of an agent, and its variables if they can name other directories."""
    if in_sandbox:
        return _find_private_home(services.layout, task), {}
    section = find_section(executor, services.settings.executors)
    env = {**services.environ, **section.env}
    return Path(env.get("HOME") or "/"), env


def _find_private_home(layout: Layout, task: TaskId) -> Path:
    return layout.sandbox(task) / "home"


def _name(task: TaskId, executor: str, session: str, services: StepServices) -> str:
    return f"{services.writer.store_id}/tasks/{task}/sessions/{executor}/{session}"

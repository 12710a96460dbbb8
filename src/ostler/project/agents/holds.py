"""Why a task is not started now: its provider, or how much of its windows is used."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ostler.calls.attempts.session import model_of_session
from ostler.calls.models.availability import ModelAvailability, Unavailable
from ostler.clock import Clock
from ostler.model.state import State
from ostler.model.task import Priority, Task
from ostler.project.agents.model_pool import find_models
from ostler.project.project import Project

_KEEP_SECONDS = 1.0  # a list of a thousand waiting tasks is read twice a second


class HoldFinder:
    """Finds why no model for a task may be called, for the tasks of one run."""

    def __init__(
        self, project: Project, get_availability: Callable[[], ModelAvailability], clock: Clock
    ) -> None:
        self._project = project
        self._get_availability = get_availability
        self._clock = clock
        self._found: dict[tuple[object, ...], Unavailable] = {}  # of tasks that may use the same models
        self._found_at = 0.0
        self.print_message: Callable[[str], None] | None = None  # called once per reason of held tasks
        self._printed: set[str] = set()

    def find(self, state: State) -> Unavailable | None:
        """Return why no model for a task may be called now, or may not for a task that has not begun."""
        if not self._get_availability().may_hold():
            return None
        task = self._project.task(state.task)
        task = replace(task, role=state.current.role or task.role)
        attempts = self._project.journal.attempts(state.task) if state.claims > 0 else []
        start = (state.priority, bool(attempts), model_of_session(state, attempts))
        key = (task.executor, task.model, task.tier, task.role, task.is_document, *start)
        if (known := self._find_recent(key)) is not None:
            return known
        hold = self._look(task, *start)
        if hold is not None:
            self._found[key] = hold
            self._print(hold)
        return hold

    def _find_recent(self, key: tuple[object, ...]) -> Unavailable | None:
        now = self._clock.monotonic()
        if now - self._found_at >= _KEEP_SECONDS:
            self._found, self._found_at = {}, now
        return self._found.get(key)

    def _look(self, task: Task, priority: Priority, has_begun: bool, preferred: str) -> Unavailable | None:
        pool = find_models(self._project, task)
        availability = self._get_availability()
        return availability.find_hold(pool, priority, has_begun=has_begun, preferred=preferred)

    def _print(self, hold: Unavailable) -> None:
        if hold.reason == "held" and self.print_message and hold.message not in self._printed:
            self._printed.add(hold.message)
            self.print_message(f"new tasks wait: {hold.message}")

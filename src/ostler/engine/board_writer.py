"""Records what a driver decides about tasks that no run holds, and about those that run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from msgspec import Struct

from ostler.engine.board import Board, Orders
from ostler.engine.board_reader import read_redone
from ostler.engine.core.evolve import evolve
from ostler.engine.core.rules import is_newer
from ostler.engine.records import append_event
from ostler.engine.steps.services import StepServices
from ostler.engine.task_files import write_state_file
from ostler.errors import Code
from ostler.model.attempt import TaskRow
from ostler.model.event import DecisionRecorded, Event, Record, TaskBlocked
from ostler.model.ids import TaskId
from ostler.model.rows import build_row, decode_state
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.secrets.redact import redact_struct


class SettledBoard(Struct, frozen=True):
    """A board after its events are written."""

    board: Board
    orders: Orders
    changed: list[State]


async def settle_board(board: Board, look: Callable[[Board], Orders], services: StepServices) -> SettledBoard:
    """Write the events of the board, and look again."""
    orders, changed = look(board), list[State]()
    # A task whose predecessor has new commits is blocked and reopened, which prepares it again.
    for _ in range(2):
        if orders.events:
            written = await asyncio.gather(*(_append(row, event, services) for row, event in orders.events))
            states = [state for state in written if state is not None]
            changed += states
            board = board.update({state.task: build_row(state) for state in states})
            orders = look(board)
    return SettledBoard(board, orders, changed)


def cancel_tasks(orders: Orders, services: StepServices) -> None:
    """Cancel the running tasks of stopped pipelines."""
    for task, reason in orders.cancel:
        row = services.journal.row(task)
        if row is not None and not is_newer(decode_state(row)):
            append_event(services.journal, task, DecisionRecorded("cancel", reason), services.clock.now())


def block_successors(tasks: Iterable[TaskId], services: StepServices) -> None:
    """Stop running tasks that build on a task which was reopened; they keep their work."""
    dependent = {*services.journal.listing.dependent()}
    for task in tasks:
        row = services.journal.row(task) if task in dependent else None
        if (
            row is not None
            and row.status == TaskStatus.IN_PROGRESS
            and not is_newer(decode_state(row))
            and (why := read_redone(services.journal, row))
        ):
            blocked = TaskBlocked(Code.DEPENDENCY_FAILED, why)
            append_event(services.journal, task, blocked, services.clock.now())


async def _append(row: TaskRow, event: Event, services: StepServices) -> State | None:
    """Append an event to a task that no run holds; return None if another process was faster.

    The board of a newer version decides about a task of that version.
    """
    if is_newer(before := decode_state(row)):
        return None
    record = Record(row.id, row.seq + 1, services.clock.now(), redact_struct(event))
    after = evolve(before, record)
    if not await services.writer.append(record, build_row(after)):
        return None
    write_state_file(after, services.layout)
    return after

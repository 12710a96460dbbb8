"""The last attempts of a project with the weight of their tasks, from which a forecast is made."""

# Annotations are values here: msgspec would compile each text again, a tenth of the start of a run.

import msgspec
from msgspec import Struct

from ostler.model.attempt import Billing
from ostler.model.ids import TaskId
from ostler.model.limits.window_change import WindowChange
from ostler.model.task import Weight
from ostler.model.usage import Usage
from ostler.store.database import Database, number_parameters

# More than 100 tasks; older ones differ more from the next ones, and a list of tasks must stay fast.
_RECENT = 400
_SELECT_RECENT = "SELECT body FROM attempt WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT $1"
_SELECT_COMPLETED = """
    SELECT id, state, updated_at FROM task WHERE status IN ('completed', 'approved') AND id IN"""


class PastAttempt(Struct, frozen=True):
    """The part of an attempt that a forecast needs: decoding a part is faster."""

    task: TaskId
    number: int
    phase: str
    started_at: float
    duration_ms: int | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None
    billing: Billing = "unknown"
    account: str = ""
    windows: tuple[WindowChange, ...] = ()
    executor: str = ""
    model_name: str = ""  # in the settings

    @property
    def ended_at(self) -> float:
        return self.started_at + (self.duration_ms or 0) / 1000


class CompletedTask(Struct, frozen=True):
    """A completed task whose attempts are all known."""

    weight: Weight
    ended_at: float


class History(Struct, frozen=True):
    attempts: tuple[PastAttempt, ...] = ()  # the oldest first, those of other tasks included
    completed: dict[TaskId, CompletedTask] = {}


class _State(Struct):
    weight: Weight


_decode_attempt = msgspec.json.Decoder(PastAttempt).decode
_decode_state = msgspec.json.Decoder(_State).decode


def read_history(db: Database) -> History:
    """Return the last attempts that ended and the completed tasks among theirs."""
    found = [_decode_attempt(body) for (body,) in db.query(_SELECT_RECENT, _RECENT)]
    # The first attempts of the oldest task may not be among them.
    whole = {one.task for one in found if one.number == 1}
    if not whole:
        return History(tuple(reversed(found)))
    completed = {
        task: CompletedTask(_decode_state(state).weight, at)
        for task, state, at in db.query(
            f"{_SELECT_COMPLETED} ({number_parameters(1, len(whole))})", *sorted(whole)
        )
    }
    return History(tuple(reversed(found)), completed)

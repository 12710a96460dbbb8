"""The interface of the store of a project: opens its parts, whichever database contains them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ostler.store.busy import RUN_WAIT_SECONDS, StopRequest

if TYPE_CHECKING:
    from ostler.errors import OstlerError
    from ostler.store.gate_controls import GateControls
    from ostler.store.ledger import Ledger
    from ostler.store.outbox import Outbox
    from ostler.store.queries.last_calls import LastCalls
    from ostler.store.queries.past_attempts import History
    from ostler.store.reviews import Reviews
    from ostler.store.spending import SpendingReader
    from ostler.store.sql_journal import OpenedJournal, SqlJournal
    from ostler.store.writer import GroupWriter


class Turn(Protocol):
    """The right to do something that one process of a project does at a time, such as to notify."""

    def take(self) -> bool:
        """Take the turn, or keep it; return False when another process has it. It ends with its process."""
        ...

    def is_taken(self) -> bool:
        """Return whether this or another process has the turn."""
        ...

    def release(self) -> None:
        """Give the turn up; a second call does nothing."""
        ...


class Listener(Protocol):
    """Reports that another process has written."""

    def close(self) -> None:
        """Stop; closing twice is allowed."""
        ...


class Store(Protocol):
    """Each opened part has a connection of its own, for one thread.

    `wait_seconds` is how long a write waits for a store that it cannot write to, and `stop` ends this wait.
    """

    @property
    def name(self) -> str:
        """What messages call it: the path of a file, or the URL of a server without its password."""
        ...

    @property
    def file(self) -> Path | None:
        """The file of this machine that contains it; None: it is on a server."""
        ...

    def exists(self) -> bool:
        """Return whether the store was created."""
        ...

    def open_project(self, *, create: bool) -> OpenedJournal:
        """Open the journal for a command; upgrades an older one. Raises JOURNAL_LOST if it was deleted."""
        ...

    def require_complete(self) -> None:
        """Raise JOURNAL_LOST if a run could not record something, so that agents would be called again."""
        ...

    def find_loss(self) -> OstlerError | None:
        """Return why the store is lost, if a look at the files of this machine shows it."""
        ...

    def settle_machine(self, machine: str, *, take_over: bool = False) -> str:
        """Let only this machine run tasks from now on, as it alone sees whether its runs are alive.

        Return the machine before; raise UsageError if it is another one, except to take over from it.
        """
        ...

    def open_journal(self, *, wait_seconds: float = 0.0, stop: StopRequest | None = None) -> SqlJournal:
        """Open the journal; raises UsageError if there is none."""
        ...

    def open_writer(
        self, *, wait_seconds: float = RUN_WAIT_SECONDS, stop: StopRequest | None = None
    ) -> GroupWriter:
        """Open the journal for the writes of an event loop."""
        ...

    def open_ledger(self, *, wait_seconds: float = 0.0, stop: StopRequest | None = None) -> Ledger:
        """Return the ledger, which is opened on first use."""
        ...

    def open_outbox(self) -> Outbox: ...

    def open_spending(self) -> SpendingReader: ...

    def open_gate_controls(self, *, wait_seconds: float = 0.0) -> GateControls: ...

    def open_reviews(self, *, wait_seconds: float = 0.0) -> Reviews: ...

    def turn(self, name: str) -> Turn:
        """Return the turn with this name, not taken yet."""
        ...

    def listen(self, wake: Callable[[], None]) -> Listener:
        """Call `wake`, in another thread, after writes of other processes; the caller polls as well.

        Not every write is reported; a store in a file reports none where the kernel does not.
        """
        ...

    def read_history(self) -> History:
        """Return the last attempts that ended, and the completed tasks among theirs."""
        ...

    def read_last_calls(self) -> LastCalls:
        """Return the last calls; none when there is no journal, or when it cannot be read."""
        ...

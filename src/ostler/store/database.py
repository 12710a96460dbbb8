"""The project's SQLite file in the hands of one thread."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ostler.errors import Code, OstlerError
from ostler.files.failpoint import reach
from ostler.store.opening import connect
from ostler.store.refusal import explained
from ostler.store.statement import Value, run


class Database:
    """Asked and changed in SQL; what goes wrong is told in a caller's words."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        busy_timeout_seconds: float = 5.0,
        check_up_to: int = 0,
        failpoints: tuple[str, str] = ("", ""),  # before a change is kept, and after
    ) -> None:
        self._path = path
        self.connection = connect(
            path, create=create, busy_timeout_seconds=busy_timeout_seconds, check_up_to=check_up_to
        )
        self.run = partial(run, self.connection)  # a step of a transaction, which explains its errors
        self._failpoints = failpoints
        self._broken: OstlerError | None = None

    def close(self) -> None:
        with explained(self._path):
            self.connection.close()

    def ask(self, query: str, *values: Value) -> list[tuple[Any, ...]]:
        with explained(self._path):
            return run(self.connection, query, *values)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Everything written inside is durable when it ends well, and nothing of it is kept otherwise."""
        if self._broken is not None:
            raise self._broken
        before, after = self._failpoints
        with explained(self._path, self._remember):
            self.run("BEGIN IMMEDIATE")
            try:
                yield
                reach(before)
                self.run("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.run("ROLLBACK")
                raise
            reach(after)

    def _remember(self, told: OstlerError) -> None:
        # After a failed fsync the kernel may have dropped the pages: a later success would be a lie.
        if told.code is Code.STORAGE_ERROR:
            self._broken = told

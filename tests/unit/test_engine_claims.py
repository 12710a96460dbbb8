"""Writes of a run while its claim holds, at the end of its lease, and after its successor's claim."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from journal_values import TASK, make_attempt, make_record, make_row
from ostler.engine.claims import ClaimedWriter
from ostler.model.notice import ParseError
from ostler.process.lease import LEASE_RATIO, Lease
from ostler.store.fence import Claim, ClaimLost
from ostler.store.sqlite.store import SqliteStore
from ostler.store.writer import GroupWriter


def awaitable(future: Any) -> Awaitable[Any]:
    """A notice or a session id need not be awaited; its refusal can be."""
    return future


WRITES: dict[str, Callable[[ClaimedWriter], Awaitable[Any]]] = {
    "append": lambda writer: writer.append(make_record(2), row(2, 1)),
    "notify": lambda writer: awaitable(writer.notify(TASK, 1.0, [ParseError("x")])),
    "begin": lambda writer: writer.begin_attempt(make_attempt()),
    "session": lambda writer: awaitable(writer.set_session(TASK, 1, "s")),
    "end": lambda writer: writer.end_attempt(replace(make_attempt(number=1), status="failed")),
}
every_write = pytest.mark.parametrize("write", list(WRITES.values()), ids=list(WRITES))


def row(seq: int, claims: int) -> Any:
    return replace(make_row(seq), state=b'{"claims":%d}' % claims)


class Clock:
    """The boot clock, moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def with_writer(tmp_path: Path, check: Callable[[GroupWriter], Awaitable[None]]) -> None:
    async def run() -> None:
        writer = SqliteStore(tmp_path / "ostler.db").open_writer(create=True)
        try:
            assert await writer.append(make_record(1), row(1, 1))
            await check(writer)
        finally:
            await writer.close()

    asyncio.run(run())


@every_write
def test_the_writes_of_a_run_end_with_the_claim_of_another(
    tmp_path: Path, write: Callable[[ClaimedWriter], Awaitable[Any]]
) -> None:
    """Of two runs with one task, the first one is refused after the second has claimed it."""

    async def check(writer: GroupWriter) -> None:
        ours, theirs = (ClaimedWriter(writer, Claim(number)) for number in (1, 2))
        await write(ours)
        assert await writer.append(make_record(9), row(9, 2))
        with pytest.raises(ClaimLost):
            await write(ours)
        await write(theirs)

    with_writer(tmp_path, check)


@every_write
def test_a_write_after_the_end_of_the_lease_is_refused(
    tmp_path: Path, write: Callable[[ClaimedWriter], Awaitable[Any]]
) -> None:
    """Also while nobody has claimed the task yet: the successor would read it as a result."""

    async def check(writer: GroupWriter) -> None:
        clock = Clock()
        ours = ClaimedWriter(writer, Claim(1, Lease(10.0, clock)))
        await write(ours)
        clock.now += 10.0 * LEASE_RATIO
        with pytest.raises(ClaimLost):
            await write(ours)

    with_writer(tmp_path, check)


@every_write
def test_a_revoked_claim_refuses_every_write(
    tmp_path: Path, write: Callable[[ClaimedWriter], Awaitable[Any]]
) -> None:
    """An abandoned run records nothing, though nobody has claimed its task yet."""

    async def check(writer: GroupWriter) -> None:
        claim = Claim(1)
        ours = ClaimedWriter(writer, claim)
        await write(ours)
        claim.revoke()
        with pytest.raises(ClaimLost):
            await write(ours)

    with_writer(tmp_path, check)


def test_a_refused_notice_may_be_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Notices and sessions are written without awaiting them: their refusal is no unseen error."""

    async def check(writer: GroupWriter) -> None:
        claim = Claim(1)
        ours = ClaimedWriter(writer, claim)
        claim.revoke()
        ours.notify(TASK, 1.0, [ParseError("x")])
        ours.set_session(TASK, 1, "s")

    with_writer(tmp_path, check)
    gc.collect()
    assert caplog.text == ""


def test_a_store_that_does_not_answer_does_not_delay_the_refusal() -> None:
    """An abandoned run ends at once, also while its database hangs."""

    class Hanging:
        store_id = "x"

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} was called")

    async def check() -> None:
        claim = Claim(1)
        claim.revoke()
        ours = ClaimedWriter(Hanging(), claim)
        for name in ("append", "begin", "end"):
            with pytest.raises(ClaimLost):
                await WRITES[name](ours)

    asyncio.run(check())

"""The sender of notifications: number of attempts, giving up, and its log lines."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from journal_values import TASK, make_record, make_row
from ostler.config.settings import NotifySettings
from ostler.errors import Code
from ostler.files.layout import Layout
from ostler.model.event import FeedLine, TaskCompleted
from ostler.model.ids import TaskId
from ostler.model.notice import ProviderUnavailable
from ostler.model.status import TaskStatus
from ostler.notify import sender
from ostler.notify.message import Message, NotDelivered, decode, delivery_id, display_name, encode, target_id
from ostler.notify.occasion import LimitDetails, Occasion, occasion_of
from ostler.notify.program import _fill_in
from ostler.notify.webhook import sign
from ostler.store.outbox import OutboxMessage
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore
from ostler.testing.virtual_clock import VirtualClock

HOOK = NotifySettings(url="https://user:key@example.org/secret/path")
REPORTED = {"id": str(TASK), "title": "--help\nme", "status": "completed", "attempts": None}


class Refusing:
    """A target that refuses every delivery."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.at: list[float] = []

    async def deliver(self, message: Message, body: bytes) -> None:
        self.at.append(self.clock.monotonic())
        raise NotDelivered("HTTP status 500")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A store in which a task has just been completed."""
    layout = Layout(tmp_path)
    (layout.state / "locks").mkdir(parents=True)
    store = SqliteStore(layout.database)
    with store.open_journal(create=True) as journal, store.open_outbox() as outbox:
        outbox.register(["notify"], [target_id(HOOK)])
        journal.append(make_record(1, event=TaskCompleted()), make_row(1))
    return layout


def make_sender(target: Refusing, layout: Layout, clock: VirtualClock) -> sender.NotificationSender:
    store = SqliteStore(layout.database)
    return sender.NotificationSender(
        [HOOK], lambda _: target, lambda *_: dict(REPORTED), "shop", store, clock
    )


def left(layout: Layout) -> list[OutboxMessage]:
    with SqliteStore(layout.database).open_outbox() as outbox:
        return outbox.messages()


def test_it_gives_up_after_six_tries_in_an_hour(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The delays grow; doctor shows the last failure."""
    monkeypatch.setattr(sender, "_POLL_SECONDS", 5.0)
    clock = VirtualClock()
    target = Refusing(clock)

    async def carry() -> str:
        office = sender.NotificationSender(
            [HOOK], lambda _: target, lambda *_: dict(REPORTED), "p", SqliteStore(layout.database), clock
        )
        work = asyncio.create_task(office.run())
        while not (found := left(layout)) or found[0].due_at is not None:
            await asyncio.sleep(0.01)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        return await office.finish(5.0)

    assert asyncio.run(carry()) == ""
    (letter,) = left(layout)
    assert (letter.tries, letter.message) == (6, "HTTP status 500")
    waits = [after - before for before, after in zip(target.at, target.at[1:], strict=False)]
    assert len(waits) == 5
    for waited, wanted in zip(waits, sender.DELAYS_SECONDS, strict=True):
        assert wanted <= waited
    assert list(sender.DELAYS_SECONDS) == sorted(sender.DELAYS_SECONDS)


def test_the_end_of_a_run_waits_only_for_what_can_still_come(layout: Layout) -> None:
    """With no delivery due within the grace period it ends at once, and reports what is left and why."""
    clock = VirtualClock()
    target = Refusing(clock)

    async def carry() -> str:
        office = sender.NotificationSender(
            [HOOK], lambda _: target, lambda *_: dict(REPORTED), "p", SqliteStore(layout.database), clock
        )
        return await office.finish(5.0)

    printed = asyncio.run(carry())
    assert printed == (
        "1 notification is not delivered yet (example.org: HTTP status 500); the next run tries again"
    )
    assert 2 <= len(target.at) <= 3
    assert clock.monotonic() <= 5.5


def test_a_second_post_leaves_it_to_the_first(layout: Layout) -> None:
    """One process owns the feed; the other one reports this and delivers nothing."""
    clock = VirtualClock()
    first, second = Refusing(clock), Refusing(clock)

    async def carry() -> None:
        offices = [make_sender(target, layout, clock) for target in (first, second)]
        assert await offices[0]._read_and_deliver()
        assert not await offices[1]._read_and_deliver()
        for office in reversed(offices):  # the first one owns it until it ends
            await office.finish(1.0)

    asyncio.run(carry())
    assert first.at and not second.at


@pytest.mark.parametrize(
    ("body", "on"),
    [
        ('{"type":"gate_waiting","phase":"test","reason":"Look at it"}', "needs_you"),
        ('{"type":"task_blocked","code":"STUCK","message":"x"}', "needs_you"),
        ('{"type":"task_paused","code":"ITERATION_LIMIT","message":"x"}', "needs_you"),
        ('{"type":"task_paused","message":"the agent wants a word"}', "needs_you"),
        ('{"type":"task_paused","message":"paused by a person"}', None),
        ('{"type":"task_completed","commit":null}', "completed"),
        ('{"type":"task_failed","code":"TIMEOUT","message":"x"}', "failed"),
        ('{"type":"task_deferred","code":"BUDGET_EXCEEDED","message":"x","resumes_at":1.0}', "limited"),
        ('{"type":"task_deferred","code":"RATE_LIMITED","message":"x","resumes_at":1.0}', None),
        ('{"type":"task_held","code":"AUTH_FAILED","message":"x"}', None),
        ('{"type":"provider_unavailable","model":"m","code":"RATE_LIMITED","message":"x"}', "limited"),
        ('{"type":"provider_unavailable","model":"m","code":"NETWORK","message":"x"}', "limited"),
        ('{"type":"provider_unavailable","model":"m","code":"AUTH_FAILED","message":"x"}', "needs_you"),
        ('{"type":"model_recovered","model":"m","window":"five_hour","reported":true}', "back"),
        ('{"type":"model_recovered","model":"m","window":"requests"}', None),
        ('{"type":"model_recovered","model":"m","reason":"after its cooldown"}', None),
        ('{"type":"task_cancelled","message":"cancelled by a person"}', None),
        ('{"type":"tool_used","tool":"Edit"}', None),
        ('{"type":"task_failed","message":{"of":"a newer version"}}', None),
    ],
)
def test_what_is_an_occasion(body: str, on: str | None) -> None:
    """Waits for a person, ends and limits are sent; a person's own actions and unknown events are not."""
    occasion = occasion_of(FeedLine(7, 1.0, TASK, Raw(body.encode())))
    assert (occasion.on if occasion else None) == on


def test_a_limit_is_named_with_its_account_and_the_tasks_that_wait(layout: Layout) -> None:
    """Account, window, reset and the number of tasks, in fields and in the text."""
    with SqliteJournal(layout.database) as journal:
        for number in range(2):
            task = TaskId(f"wait-{number}-ab12")
            journal.append(make_record(1, task), replace(make_row(1, task), status=TaskStatus.DEFERRED))
        notice = ProviderUnavailable(
            "sonnet", Code.QUOTA_EXCEEDED, "claude: five-hour limit", 60.0, "claude", "five_hour"
        )
        journal.notify(TASK, 1.0, [notice])

    async def carry() -> None:
        office = make_sender(Refusing(VirtualClock()), layout, VirtualClock())
        assert await office._read_and_deliver()
        await office.finish(0.0)

    asyncio.run(carry())
    message = decode(left(layout)[-1].body)
    assert (message.on, message.reason) == ("limited", "claude: five-hour limit; 3 tasks wait")
    assert message.limit == LimitDetails("claude", "five_hour", "five-hour", "1970-01-01T00:01:00.000Z", 3)


def test_a_message_shows_no_key_in_any_field() -> None:
    """Also in lists of the task, and in the reason."""
    key = "sk-ant-" + "x1" * 20
    occasion = Occasion(7, "failed", 0.0, TASK, TaskStatus.FAILED, f"bad key {key}", "ostler retry x")
    body = encode(occasion, "store", "hook", "project", {**REPORTED, "warnings": (f"it printed {key}",)})
    assert key.encode() not in body
    message = decode(body)
    assert message.reason == "bad key [redacted:anthropic-key]"
    assert message.id == delivery_id("store", 7, "hook") != delivery_id("store", 8, "hook")
    assert message.time == "1970-01-01T00:00:00.000Z"


def test_a_title_cannot_become_an_option() -> None:
    """Values are one line and do not begin with a dash; unknown names in braces are unchanged."""
    message = Message("1", "failed", "", "project", "", "ostler retry x", REPORTED)
    assert _fill_in("{title}", message) == "help me"
    assert _fill_in("--body={on} {next} {x} {", message) == "--body=failed ostler retry x {x} {"


def test_a_place_is_reported_without_its_key() -> None:
    """The path and the user of an address are not shown."""
    assert display_name(HOOK) == "example.org"
    assert display_name(NotifySettings(url="http://127.0.0.1:8080/x")) == "127.0.0.1:8080"
    assert display_name(NotifySettings(command=("notify-send", "x"))) == "notify-send"


def test_a_signature_covers_time_and_body() -> None:
    """Time and body cannot be changed without the key."""
    signed = sign("key", "100", b"{}")
    # computed with openssl
    assert signed == "b6ae95232f7a6f10ed56c0c2931bda6344efb9e66d09bf79943ca1df746bbddf"
    assert len({signed, sign("key", "101", b"{}"), sign("key", "100", b"{ }"), sign("k", "100", b"{}")}) == 4

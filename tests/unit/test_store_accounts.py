"""The ledger of accounts: shared by all processes, fast to query, usable whatever happens to its file."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from ostler.errors import Code
from ostler.files import failpoint
from ostler.model.limits.limit import LEASE_SECONDS, Closed, Open, Probe
from ostler.model.limits.window import ReportedWindow, Window, WindowUse
from ostler.store.accounts.file import FILE_NAME
from ostler.store.accounts.ledger import AccountLedger
from ostler.store.accounts.sqlite import KnownLimits, SqliteAccounts, open_accounts, read_accounts

NOW = 1_700_000_000.0
DAY, HOUR = 86_400.0, 3600.0
WEEK = Window("claude", "", "*", "seven_day")
SONNET = Window("claude", "", "sonnet")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / FILE_NAME


@pytest.fixture
def ledger(path: Path) -> Iterator[AccountLedger]:
    ledger = SqliteAccounts(path)
    yield ledger
    ledger.close()


@pytest.fixture
def other(path: Path) -> Iterator[AccountLedger]:
    """The same file, as another process has it."""
    ledger = SqliteAccounts(path)
    yield ledger
    ledger.close()


def limit(ledger: AccountLedger, until: float, now: float = NOW, window: Window = WEEK) -> None:
    ledger.close_window(window, until, Code.QUOTA_EXCEEDED, "used up", now)


class TestLimits:
    def test_the_first_limit_stops_everyone(self, ledger: AccountLedger, other: AccountLedger) -> None:
        """The next caller, in any process, gets the end and the reason of a limit."""
        assert ledger.admit([SONNET], "ada", NOW) == Open()
        limit(ledger, NOW + 300)
        for asked in (ledger, other):
            assert asked.admit([SONNET], "bob", NOW + 1) == Closed(NOW + 300, Code.QUOTA_EXCEEDED, "used up")
        assert other.admit([Window("codex")], "bob", NOW) == Open()

    def test_one_probe_reopens(self, ledger: AccountLedger, other: AccountLedger) -> None:
        """At the reset one caller probes; the others continue when it was answered."""
        limit(ledger, NOW + 300)
        assert other.admit([SONNET], "bob", NOW + 300) == Probe((WEEK,))
        assert isinstance(ledger.admit([SONNET], "ada", NOW + 301), Closed)
        assert ledger.limits(NOW + 301)[0].prober == "bob"
        assert other.reopen(WEEK)
        assert ledger.admit([SONNET], "ada", NOW + 302) == Open()
        assert ledger.limits(NOW + 302) == []

    def test_a_probe_that_meets_the_limit_closes_again(self, ledger: AccountLedger) -> None:
        """The next reset has its own probe."""
        limit(ledger, NOW + 300)
        ledger.admit([SONNET], "ada", NOW + 300)
        limit(ledger, NOW + 600, NOW + 301)
        assert ledger.admit([SONNET], "ada", NOW + 302) == Closed(NOW + 600, Code.QUOTA_EXCEEDED, "used up")
        assert ledger.admit([SONNET], "bob", NOW + 600) == Probe((WEEK,))

    def test_a_dead_prober_is_replaced(self, ledger: AccountLedger) -> None:
        """A minute later another caller may try."""
        limit(ledger, NOW)
        assert ledger.admit([SONNET], "ada", NOW) == Probe((WEEK,))
        assert isinstance(ledger.admit([SONNET], "bob", NOW + LEASE_SECONDS - 1), Closed)
        assert ledger.admit([SONNET], "bob", NOW + LEASE_SECONDS) == Probe((WEEK,))

    def test_a_probe_that_is_given_back_is_free_at_once(self, ledger: AccountLedger) -> None:
        """Only its own caller gives it back, and a window that was closed again stays closed."""
        limit(ledger, NOW)
        assert ledger.admit([SONNET], "ada", NOW) == Probe((WEEK,))
        ledger.release_probe([WEEK], "bob")
        assert isinstance(ledger.admit([SONNET], "bob", NOW + 1), Closed)
        ledger.release_probe([WEEK], "ada")
        assert ledger.admit([SONNET], "bob", NOW + 1) == Probe((WEEK,))
        limit(ledger, NOW + 500, NOW + 2)
        ledger.release_probe([WEEK], "bob")
        assert isinstance(ledger.admit([SONNET], "ada", NOW + 3), Closed)

    def test_an_answer_does_not_undo_a_later_limit(self, ledger: AccountLedger) -> None:
        """A limit that another call met during the probe takes precedence."""
        limit(ledger, NOW)
        ledger.admit([SONNET], "ada", NOW)
        limit(ledger, NOW + 500, NOW + 1)
        assert not ledger.reopen(WEEK)
        assert isinstance(ledger.admit([SONNET], "ada", NOW + 2), Closed)

    def test_several_windows_of_one_call(self, ledger: AccountLedger) -> None:
        """The call waits for all of them, and its probe is for all."""
        day = Window("claude", "", "sonnet", "day")
        limit(ledger, NOW + 5)
        limit(ledger, NOW + 9, window=day)
        assert ledger.admit([SONNET], "ada", NOW + 5) == Closed(NOW + 9, Code.QUOTA_EXCEEDED, "used up")
        assert ledger.admit([Window("claude", "", "opus")], "ada", NOW + 5) == Probe((WEEK,))
        assert isinstance(ledger.admit([SONNET], "bob", NOW + 9), Closed)
        assert ledger.admit([SONNET], "ada", NOW + 9) == Probe((WEEK, day))

    @pytest.mark.parametrize("jump", [-10 * DAY, 10 * DAY])
    def test_a_clock_that_jumps_closes_nothing_for_ever(self, ledger: AccountLedger, jump: float) -> None:
        """A limit of one clock is probed under the other, and a new one counts (B12)."""
        limit(ledger, NOW + 300)
        assert ledger.admit([SONNET], "ada", NOW + jump) == Probe((WEEK,))
        limit(ledger, NOW + jump + 60, NOW + jump)
        reported = ledger.admit([SONNET], "ada", NOW + jump)
        assert reported == Closed(NOW + jump + 60, Code.QUOTA_EXCEEDED, "used up")
        assert ledger.admit([SONNET], "ada", NOW) == Probe((WEEK,))

    def test_asking_is_cheap(self, ledger: AccountLedger) -> None:
        """It is read before every start, so it takes microseconds, with other windows closed too (5 to 20 us
        measured).
        """
        for number in range(8):
            limit(ledger, NOW + 300, window=Window("other", str(number)))
        taken = []
        for _ in range(500):
            started = time.perf_counter()
            ledger.admit([SONNET], "ada", NOW)
            taken.append(time.perf_counter() - started)
        assert sorted(taken)[250] < 0.0005

    def test_a_limit_that_ended_a_window_ago_is_not_listed(self, ledger: AccountLedger) -> None:
        """Its models may not be called any more; a call of one is still the only probe."""
        opus = Window("claude", "", "opus", "seven_day_opus")
        limit(ledger, NOW + DAY, window=opus)
        assert [len(ledger.limits(NOW + days * DAY)) for days in (0, 2, 6.9)] == [1, 1, 1]
        assert ledger.limits(NOW + 7.1 * DAY) == []
        assert ledger.admit([opus], "ada", NOW + 7.1 * DAY) == Probe((opus,))
        assert isinstance(ledger.admit([opus], "bob", NOW + 7.1 * DAY), Closed)

    def test_a_limit_after_a_long_time_is_reported_again(self, ledger: AccountLedger) -> None:
        limit(ledger, NOW + DAY)
        assert [ledger.take_report(WEEK) for _ in range(2)] == [True, False]
        limit(ledger, NOW + 9 * DAY, NOW + 8 * DAY)
        assert ledger.take_report(WEEK)

    def test_a_refused_login_is_listed_until_it_works(self, ledger: AccountLedger) -> None:
        ledger.open_circuit(Window("claude#", "", "*", "login"), Code.AUTH_FAILED, "no", NOW, 30.0, 600.0)
        assert len(ledger.limits(NOW + 90 * DAY)) == 1

    def test_messages_of_all_kinds_are_kept(self, ledger: AccountLedger, other: AccountLedger) -> None:
        """Messages of a provider are stored as text, never run as SQL."""
        odd = Window("pro'vider", 'a"c', "модель", "'; DROP TABLE closed_window; --")
        ledger.close_window(odd, NOW + 9, Code.RATE_LIMITED, "a\nb 'c' 🐎", NOW)
        assert other.limits(NOW)[0].window == odd
        assert other.limits(NOW)[0].message == "a\nb 'c' 🐎"


class TestUse:
    USE = WindowUse(WEEK, ReportedWindow("seven_day", 0.93, NOW + DAY), NOW, "claude")

    def test_the_newest_report_counts(self, ledger: AccountLedger, other: AccountLedger) -> None:
        """An older report that arrives later changes nothing."""
        newer = replace(self.USE, reported=replace(self.USE.reported, used=0.95), noted_at=NOW + 2)
        ledger.note_windows([newer])
        other.note_windows([self.USE])
        assert other.windows(NOW + 3) == [newer]

    def test_use_ends_with_the_reset(self, ledger: AccountLedger) -> None:
        """After the reset the use is unknown, not the old value."""
        ledger.note_windows([self.USE])
        assert ledger.windows(NOW + DAY - 1) == [self.USE]
        assert ledger.windows(NOW + DAY) == []

    @pytest.mark.parametrize(
        ("reported", "seconds"),
        [
            (ReportedWindow("quota", status="rejected"), HOUR),
            (ReportedWindow("minute", 0.5), 60),
            (ReportedWindow("seven_day", 0.96), 5 * HOUR),
            (ReportedWindow("five_hour", 0.96, NOW + 300 * DAY), 5 * HOUR),
            (ReportedWindow("quota", 0.96, NOW + 300 * DAY), 8 * DAY),
            (ReportedWindow("30d", 0.96, NOW + 29 * DAY), 29 * DAY),
        ],
    )
    def test_use_ends_without_a_plausible_reset(
        self, ledger: AccountLedger, reported: ReportedWindow, seconds: float
    ) -> None:
        """Without a reset, or with one after the end of the window, the use ends with the window."""
        use = replace(self.USE, reported=reported)
        ledger.note_windows([use])
        assert ledger.windows(NOW + seconds - 1) == [use]
        assert ledger.windows(NOW + seconds) == []

    @pytest.mark.parametrize("is_probe", [True, False])
    def test_an_account_that_answers_again_is_not_shown_as_rejected(
        self, ledger: AccountLedger, is_probe: bool
    ) -> None:
        rejected = replace(self.USE, reported=replace(self.USE.reported, status="rejected"))
        other = replace(rejected, window=replace(WEEK, window="day"))
        ledger.note_windows([rejected, other])
        limit(ledger, NOW + 5)
        ledger.admit([SONNET], "ada", NOW + 6)
        if is_probe:
            assert ledger.reopen(WEEK)
        else:
            ledger.end_limits(SONNET)
        assert ledger.windows(NOW + 6) == [other]

    def test_the_report_that_came_with_the_answer_is_kept(self, ledger: AccountLedger) -> None:
        limit(ledger, NOW + 5)
        ledger.admit([SONNET], "ada", NOW + 6)
        ledger.note_windows([self.USE])
        assert ledger.reopen(WEEK)
        assert ledger.windows(NOW + 6) == [self.USE]

    def test_a_report_of_a_wrong_clock_is_replaced(self, ledger: AccountLedger) -> None:
        ledger.note_windows([replace(self.USE, noted_at=NOW + 10 * DAY)])
        assert ledger.windows(NOW) == []
        ledger.note_windows([self.USE])
        assert ledger.windows(NOW) == [self.USE]

    def test_old_reports_are_deleted(self, ledger: AccountLedger) -> None:
        old = replace(self.USE, window=Window("codex"), reported=ReportedWindow("day", 0.5))
        ledger.note_windows([old])
        ledger.note_windows([replace(self.USE, noted_at=NOW + 31 * DAY)])
        assert ledger.windows(NOW) == []


class TestFile:
    def test_opened_on_first_use(self, path: Path) -> None:
        """A ledger that is not used creates no file; the first use does, readable only by its owner."""
        ledger = SqliteAccounts(path)
        ledger.close()
        assert not path.exists()
        assert ledger.limits(NOW) == []
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        ledger.close()

    def test_the_place(self, tmp_path: Path) -> None:
        """$XDG_STATE_HOME, else ~/.local/state; without a home directory the ledger is in memory."""
        for environ, folder in (
            ({"XDG_STATE_HOME": str(tmp_path / "s"), "HOME": "/nowhere"}, tmp_path / "s/ostler"),
            ({"HOME": str(tmp_path)}, tmp_path / ".local/state/ostler"),
        ):
            ledger = open_accounts(environ)
            limit(ledger, NOW + 9)
            ledger.close()
            assert (folder / FILE_NAME).is_file()
        alone = open_accounts({})
        limit(alone, NOW + 9)
        assert len(alone.limits(NOW)) == 1

    def test_a_deleted_file_is_created_again(self, path: Path, ledger: AccountLedger) -> None:
        """Processes that have the deleted file open meet again in the new one."""
        limit(ledger, NOW + 9)
        path.unlink()
        assert ledger.limits(NOW) == []
        limit(ledger, NOW + 9)
        assert len(SqliteAccounts(path).limits(NOW)) == 1

    @pytest.mark.parametrize("damage", ["text", "tables"])
    def test_a_damaged_file_is_kept_and_replaced(self, path: Path, damage: str) -> None:
        path.parent.mkdir()
        if damage == "text":
            path.write_text("no database" * 200)
        else:
            apsw.Connection(str(path)).execute("CREATE TABLE closed_window (x)")
        ledger = SqliteAccounts(path)
        limit(ledger, NOW + 9)
        assert len(SqliteAccounts(path).limits(NOW)) == 1
        assert path.with_name(f"{FILE_NAME}.damaged").exists()

    def test_a_file_that_cannot_be_used_is_named_once(self, tmp_path: Path) -> None:
        """The limits of this process are kept in memory, and the message names the file."""
        (tmp_path / "file").touch()
        messages: list[str] = []
        ledger = SqliteAccounts(tmp_path / "file" / FILE_NAME, messages.append)
        limit(ledger, NOW + 9)
        assert len(ledger.limits(NOW)) == 1
        (message,) = messages
        assert message.startswith("limits are not shared with other projects: ")
        assert str(tmp_path / "file") in message

    def test_a_locked_file(self, path: Path, ledger: AccountLedger, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process that holds the lock too long does not stop the tasks of others."""
        monkeypatch.setattr("ostler.store.accounts.file._BUSY_MS", 10)
        SqliteAccounts(path).limits(NOW)
        holder = apsw.Connection(str(path))
        holder.execute("BEGIN IMMEDIATE")
        limit(ledger, NOW + 9)
        assert isinstance(ledger.admit([SONNET], "ada", NOW), Closed)
        holder.execute("ROLLBACK")

    def test_a_code_of_a_newer_version(self, path: Path, ledger: AccountLedger) -> None:
        """A code that this version does not have closes the window all the same."""
        limit(ledger, NOW + 9)
        apsw.Connection(str(path)).execute("UPDATE closed_window SET code = 'TEA_BREAK'")
        assert ledger.admit([SONNET], "ada", NOW) == Closed(NOW + 9, Code.UNKNOWN, "used up")


class TestReading:
    def test_a_reader_creates_nothing(self, tmp_path: Path) -> None:
        """Without a file nothing is known, and none is made."""
        environ = {"XDG_STATE_HOME": str(tmp_path)}
        assert read_accounts(environ, NOW) == KnownLimits()
        assert list(tmp_path.iterdir()) == []

    def test_a_reader_sees_what_is_written(self, tmp_path: Path) -> None:
        """Also while the writer has the file open."""
        environ = {"XDG_STATE_HOME": str(tmp_path)}
        writer = open_accounts(environ)
        use = WindowUse(WEEK, ReportedWindow("seven_day", 0.5, NOW + DAY), NOW)
        writer.note_windows([use])
        limit(writer, NOW + DAY)
        known = read_accounts(environ, NOW)
        writer.close()
        assert known.windows == (use,)
        assert [one.window for one in known.limits] == [WEEK]

    def test_a_damaged_file_is_left_as_it_is(self, tmp_path: Path) -> None:
        """A status does not repair: the next run does."""
        path = tmp_path / "ostler" / FILE_NAME
        path.parent.mkdir()
        path.write_bytes(b"not a database" * 100)
        assert read_accounts({"XDG_STATE_HOME": str(tmp_path)}, NOW) == KnownLimits()
        assert [one.name for one in path.parent.iterdir()] == [FILE_NAME]


def test_one_account_is_forgotten(ledger: AccountLedger) -> None:
    """Its windows, its limits and its circuits; other accounts stay."""
    limit(ledger, NOW + DAY)
    limit(ledger, NOW + DAY, window=Window("claude#12", "", "*", "login"))
    limit(ledger, NOW + DAY, window=Window("", "claude"))
    ledger.note_windows([WindowUse(WEEK, ReportedWindow("seven_day", 0.5, NOW + DAY), NOW)])
    assert ledger.forget("claude@34") is False
    assert ledger.forget("claude@") is True
    assert [one.window for one in ledger.limits(NOW)] == [Window("", "claude")]
    assert ledger.windows(NOW) == []

    def test_a_write_that_fails_is_repeated_in_memory(self, path: Path) -> None:
        """A full disk is noticed when a statement or the commit writes, not at the begin."""
        messages: list[str] = []
        ledger = SqliteAccounts(path, messages.append)
        ledger.limits(NOW)
        failpoint.arm("accounts.write:enospc")
        limit(ledger, NOW + 9)
        failpoint.arm("")
        assert isinstance(ledger.admit([SONNET], "ada", NOW), Closed)
        assert len(messages) == 1

    def test_a_use_that_cannot_be_read_is_left_out(self, path: Path, ledger: AccountLedger) -> None:
        """It is damaged, or of a newer version: the others are read, and it can be forgotten."""
        other = replace(TestUse.USE, window=Window("codex"))
        ledger.note_windows([TestUse.USE, other])
        db = apsw.Connection(str(path))
        db.execute("UPDATE window_use SET reported = x'ff' WHERE provider = 'claude'")
        assert ledger.windows(NOW) == [other]
        assert ledger.forget("claude")
        assert db.execute("SELECT provider FROM window_use").fetchall() == [("codex",)]

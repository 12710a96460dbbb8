"""The screen of `ostler watch` as text, at common widths."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from rich.text import Text

from limits_world import note_windows, window_use
from ostler.cli.terminal.text import display_width
from ostler.cli.watch.board import Board, Totals
from ostler.cli.watch.handle_key import Prompt, Row, Screen, follow_selection
from ostler.cli.watch.pages import Pages
from ostler.cli.watch.screen import render_header, render_list, render_page
from ostler.cli.watch.snapshot import format_snapshot
from ostler.engine.records import append_event
from ostler.errors import Code
from ostler.files.lock import try_lock
from ostler.model.event import TaskBlocked, TaskCancelled, TaskClaimed, TaskDeferred
from ostler.model.ids import TaskId
from ostler.model.notice import IterationStarted, ToolUsedNotice, UsageNotice
from ostler.model.task import Task
from ostler.model.usage import Usage
from ostler.project.project import Project

HOSTILE = "Evil \x1b[2J\x1b]0;pwned\x07 \u202e title 日本語の題名 \x9b31m"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project.open(tmp_path, {}, create=True) as made:
        yield made


def add(project: Project, title: str) -> TaskId:
    return project.add(Task(title)).id


def claim(project: Project, task: TaskId, *notices: IterationStarted | ToolUsedNotice | UsageNotice) -> None:
    append_event(project.journal, task, TaskClaimed("r"), time.time() - 90)
    project.journal.notify(task, time.time(), notices)


def draw(board: Board, screen: Screen, columns: int = 80, lines: int = 24) -> list[str]:
    """Return the lines as text; each fits the window, and they fill its height."""
    drawn = render_list(board, board.rows, screen, (columns, lines), time.time())
    assert len(drawn) == lines
    assert all(display_width(line.plain) <= columns for line in drawn), drawn
    return [line.plain.rstrip() for line in drawn]


@pytest.fixture
def busy(project: Project) -> Iterator[Board]:
    """One task each: blocked, paused, running with its lock held, deferred, pending, cancelled."""
    asking, paused, running, deferred = (
        add(project, f"{word} it") for word in ("Ask", "Pause", "Run", "Defer")
    )
    append_event(project.journal, asking, TaskClaimed("r"), time.time())
    append_event(project.journal, asking, TaskBlocked(Code.AGENT_BLOCKED, "Which one?"), time.time())
    add(project, HOSTILE)
    cancelled = add(project, "Cancel it")
    project.act(paused, "pause")
    append_event(project.journal, cancelled, TaskCancelled("not needed"), time.time())
    used = UsageNotice(Usage(12_000, 500))
    claim(
        project, running, IterationStarted("implement", 2), used, ToolUsedNotice("Edit", "src/\x1b[31mx.py")
    )
    append_event(project.journal, deferred, TaskClaimed("r"), time.time())
    limit = TaskDeferred(Code.RATE_LIMITED, "the week is used up", time.time() + 754)
    append_event(project.journal, deferred, limit, time.time())
    held = try_lock(project.layout.lock(running))
    assert held is not None
    with held, closing(Board(project)) as board:
        yield board


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_list_shows_the_groups_in_order(busy: Board, columns: int) -> None:
    """In this order, between the totals and the keys."""
    drawn = draw(busy, follow_selection(Screen(), busy.rows), columns)
    starts = [next(i for i, line in enumerate(drawn) if line.startswith(word)) for word in HEADINGS]
    assert starts == sorted(starts)
    assert drawn[0].startswith("1 needs you · 1 running · 2 waiting")
    assert drawn[starts[0] + 1].startswith("> ask-it-")
    assert drawn[starts[1] + 1].split()[1:3] == ["implement", "2"]
    assert drawn[-1].startswith("q quit  ? help  r reply  Enter log")


HEADINGS = ("Questions", "Running", "Waiting", "Paused by you", "Ended")


def test_a_running_task_shows_activity_usage_and_duration(busy: Board) -> None:
    """The last tool call is escaped."""
    (line,) = [line for line in draw(busy, Screen(), 200) if "run-it-" in line]
    assert "implement 2" in line and "12k" in line and "1 min" in line
    assert "edit src/\\x1b[31mx.py" in line


def test_a_limit_is_shown_with_the_time_when_it_ends(busy: Board) -> None:
    """As a time of day and as a countdown."""
    (line,) = [line for line in draw(busy, Screen(), 200) if "defer-it-" in line]
    assert "resumes at " in line and ", in 12:3" in line and "RATE_LIMITED: the week is used up" in line


@pytest.mark.parametrize("columns", [10, 20, 40, 41, 79, 80, 81, 120, 200])
@pytest.mark.parametrize("lines", [5, 8, 24])
def test_no_window_is_overdrawn(busy: Board, columns: int, lines: int) -> None:
    """Every line fits, the height is filled, and control characters are escaped."""
    for row in busy.rows:
        drawn = "\n".join(draw(busy, Screen(task=row.id), columns, lines))
        assert not set(drawn) & set("\x1b\x07\x9b\u202e")


def test_the_last_lines_describe_the_selected_task(busy: Board) -> None:
    """Title and full text, replaced by a prompt that shows the end of a long input."""
    task = busy.rows[0].id
    assert draw(busy, Screen(task=task))[-2] == "Ask it: Which one?"
    assert draw(busy, Screen(is_lost=True))[-2] == ""
    asking = Prompt("send back", f"send back {task}; message: ", "x" * 90 + "the\n\tend")
    assert draw(busy, Screen(task=task, prompt=asking))[-2].endswith("xxthe⏎ end█")
    assert draw(busy, Screen(task=task, message="no \x1b[31msuch task"))[-2] == "no \\x1b[31msuch task"
    assert draw(busy, Screen(task=task, filter="ask"))[-2] == "filter: ask   Esc clears it"


def test_a_task_whose_run_died_waits(project: Project) -> None:
    """Its lock is free, so the next run continues it."""
    claim(project, add(project, "Run it"))
    with closing(Board(project)) as board:
        drawn = draw(board, Screen())
    assert "Running" not in drawn and drawn[0].startswith("0 need you · 0 running · 1 waiting")
    assert any("INTERRUPTED" in line for line in drawn)


def test_changes_of_other_processes_are_read(project: Project, tmp_path: Path) -> None:
    """A second process adds a task and pauses it."""
    first = add(project, "First")
    with closing(Board(project)) as board:
        before = {row.id: row for row in board.rows}
        with Project.open(tmp_path, {}) as other:
            second = add(other, "Second")
            other.act(second, "pause")
        board.poll()
        assert [(row.id, row.status) for row in board.rows] == [(first, "pending"), (second, "paused")]
        assert board.totals.sections["paused"] == 1
        assert board.rows[0] == before[first]


@pytest.mark.parametrize("columns", [40, 120])
def test_a_window_that_is_nearly_used_is_in_the_header(
    project: Project, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the totals, soon after an agent reported it; before, the line names the command that runs it."""
    add(project, "First")
    with closing(Board(project)) as board:
        assert draw(board, Screen(), columns)[1].startswith("No process runs the waiting tasks")
        note_windows(os.environ, window_use("five_hour", 0.93, time.time()))
        board.poll()
        assert "five-hour" not in board.notice
        monkeypatch.setattr("ostler.cli.watch.board._LIMITS_SECONDS", 0.0)
        board.poll()
        assert draw(board, Screen(), columns)[1].startswith("claude: five-hour 93 %, resets ")
        assert "claude: five-hour 93 %" in format_snapshot(board, time.time()).splitlines()[1]


def test_own_changes_are_read_with_force(project: Project) -> None:
    """SQLite reports changes of other connections only."""
    task = add(project, "First")
    with closing(Board(project)) as board:
        project.act(task, "pause")
        board.poll(force=True)
        assert board.rows[0].status == "paused"


def test_of_ten_thousand_tasks_each_section_shows_some(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The selected task is visible, and only visible tasks are loaded."""
    shown, looked = project.show(add(project, "One")), list[str]()
    with closing(Board(project)) as board:
        board.rows = [Row(f"wait-{i}", "pending", "waiting", "Wait") for i in range(10_000)]
        board.rows += [Row(f"done-{i}", "completed", "done", "Done") for i in range(10_000)]
        monkeypatch.setattr(board, "view", lambda task: looked.append(task) or shown)
        drawn = draw(board, Screen(task="wait-7777"))
    assert any(line.startswith("> wait-7777 ") for line in drawn)
    assert drawn[2] == "Waiting  7771-7785 of 10000"
    assert [line.split()[0] for line in drawn if line.startswith("  done-")] == ["done-0", "done-1", "done-2"]
    assert len(looked) < 40


def test_a_page_shows_where_it_is(busy: Board) -> None:
    """It starts at the requested line."""

    lines = [Text(f"line {number}") for number in range(100)]
    drawn = [line.plain for line in render_page("log of x", lines, Screen(page="log"), (80, 10), 93)]
    assert drawn[0] == "log of x  100/100" and drawn[1:8] == [f"line {n}" for n in range(93, 100)]


def test_the_snapshot_is_plain_text(busy: Board) -> None:
    """Every section, no keys, no control characters."""
    reported = format_snapshot(busy, time.time())
    assert [line for line in reported.splitlines() if line in HEADINGS] == [*HEADINGS]
    assert "q quit" not in reported and not set(reported) & set("\x1b\x07\x9b\u202e")


def test_a_project_without_tasks_shows_a_message(project: Project) -> None:
    """The screen shows a message instead of a list."""
    with closing(Board(project)) as board:
        assert "No tasks yet." in draw(board, Screen())
        assert format_snapshot(board, time.time()).startswith("0 need you")


def test_a_log_is_rendered_as_by_the_command_and_updated(project: Project) -> None:
    """Each read adds the new entries; control characters are escaped."""
    task = add(project, "One")
    folder = project.layout.task(task) / "transcripts"
    folder.mkdir(parents=True)
    (folder / "implement-001.md").touch()
    history = folder / "implement-001.log.ndjson"
    pages = Pages(project)
    assert pages.read("log", task, 80)[1][0].plain == f"{task} has not been started."
    for words in ("first \x1b[2J", "second"):
        with history.open("ab") as file:
            file.write(msgspec.json.encode({"at": 1.0, "type": "text_received", "text": words}) + b"\n")
        title, lines = pages.read("log", task, 80)
    assert title == f"log of {task}" and pages.length == 3
    assert [line.plain for line in lines] == ["first \\x1b[2J", "", "second"]
    assert pages.read("diff", task, 80)[1][0].plain.startswith("no changes to show")
    assert pages.read("help", task, 80)[1][0].plain == "Move"


def test_an_unknown_cost_is_not_zero() -> None:
    """An unknown cost is not shown as zero."""
    totals = Totals({"running": 1}, 0, None)
    assert "cost unknown today" in render_header(totals, 100).plain
    assert "$0.00 today" in render_header(Totals({}, 0, 0.0), 100).plain

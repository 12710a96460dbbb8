"""The screen of `ostler watch` as text, at the widths that people have."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from rich.text import Text

from ostler.cli.text import width
from ostler.cli.watching.board import Board, Totals
from ostler.cli.watching.pages import Pages
from ostler.cli.watching.plain import snapshot
from ostler.cli.watching.press import Asking, Row, Screen
from ostler.cli.watching.screen import header, list_screen, page_screen
from ostler.engine.post import post
from ostler.errors import Code
from ostler.files.lock import try_lock
from ostler.model.event import TaskCancelled, TaskClaimed, TaskDeferred
from ostler.model.ids import TaskId
from ostler.model.notice import IterationStarted, ToolUsedNotice, UsageReported
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


def claim(
    project: Project, task: TaskId, *notices: IterationStarted | ToolUsedNotice | UsageReported
) -> None:
    post(project.journal, task, TaskClaimed("r"), time.time() - 90)
    project.journal.notify(task, time.time(), notices)


def draw(board: Board, screen: Screen, columns: int = 80, lines: int = 24) -> list[str]:
    """Each line as text; none is wider than the window, and there are as many as it has."""
    drawn = list_screen(board, board.rows, screen, (columns, lines), time.time())
    assert len(drawn) == lines
    assert all(width(line.plain) <= columns for line in drawn), drawn
    return [line.plain.rstrip() for line in drawn]


@pytest.fixture
def busy(project: Project) -> Iterator[Board]:
    """One of each: paused, running, deferred, pending, cancelled; the running one's lock is held."""
    paused, running, deferred = (add(project, f"{word} it") for word in ("Pause", "Run", "Defer"))
    add(project, HOSTILE)
    cancelled = add(project, "Cancel it")
    project.pause(paused)
    post(project.journal, cancelled, TaskCancelled("not needed"), time.time())
    used = UsageReported(Usage(12_000, 500))
    claim(
        project, running, IterationStarted("implement", 2), used, ToolUsedNotice("Edit", "src/\x1b[31mx.py")
    )
    post(project.journal, deferred, TaskClaimed("r"), time.time())
    limit = TaskDeferred(Code.RATE_LIMITED, "the week is used up", time.time() + 754)
    post(project.journal, deferred, limit, time.time())
    held = try_lock(project.layout.lock(running))
    assert held is not None
    with held, closing(Board(project)) as board:
        yield board


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_glance_shows_what_needs_you_runs_waits_and_ended(busy: Board, columns: int) -> None:
    """In this order, under a line of totals and above the keys."""
    drawn = draw(busy, Screen(), columns)
    starts = [next(i for i, line in enumerate(drawn) if line.startswith(word)) for word in HEADINGS]
    assert starts == sorted(starts)
    assert drawn[0].startswith("1 needs you · 1 running · 2 waiting")
    assert drawn[starts[0] + 1].startswith("> pause-it-")
    assert drawn[starts[1] + 1].split()[1:3] == ["implement", "2"]
    assert drawn[-1].startswith("q quit  ? help  Enter log")


HEADINGS = ("Needs you", "Running", "Waiting", "Ended")


def test_a_running_task_says_what_it_does_what_it_used_and_for_how_long(busy: Board) -> None:
    """The last action is shown, never obeyed."""
    (line,) = [line for line in draw(busy, Screen(), 200) if "run-it-" in line]
    assert "implement 2" in line and "12k" in line and "1 min" in line
    assert "Edit src/\\x1b[31mx.py" in line


def test_a_limit_is_shown_with_the_time_when_it_ends(busy: Board) -> None:
    """As a time of day and as a countdown."""
    (line,) = [line for line in draw(busy, Screen(), 200) if "defer-it-" in line]
    assert "on again at " in line and ", in 12:3" in line and "RATE_LIMITED: the week is used up" in line


@pytest.mark.parametrize("columns", [10, 20, 40, 41, 79, 80, 81, 120, 200])
@pytest.mark.parametrize("lines", [5, 8, 24])
def test_no_window_is_overdrawn(busy: Board, columns: int, lines: int) -> None:
    """However small: each line fits, there are as many as there are, and nothing can steer the terminal."""
    for row in busy.rows:
        drawn = "\n".join(draw(busy, Screen(task=row.id), columns, lines))
        assert not set(drawn) & set("\x1b\x07\x9b\u202e")


def test_the_last_lines_tell_of_the_chosen_task(busy: Board) -> None:
    """Its title and what its line has no room for; a question goes before, with the end of a long answer."""
    task = busy.rows[0].id
    assert draw(busy, Screen(task=task))[-2] == "Pause it: paused by a person"
    asking = Asking("reject", f"reject {task}; why: ", "x" * 90 + "the end")
    assert draw(busy, Screen(task=task, asking=asking))[-2].endswith("xxthe end█")
    assert draw(busy, Screen(task=task, said="no \x1b[31msuch task"))[-2] == "no \\x1b[31msuch task"
    assert draw(busy, Screen(task=task, filter="pause"))[-2] == "only: pause   Esc shows all"


def test_a_task_whose_run_died_waits(project: Project) -> None:
    """Nobody holds its lock; the next run goes on with it."""
    claim(project, add(project, "Run it"))
    with closing(Board(project)) as board:
        drawn = draw(board, Screen())
    assert "Running" not in drawn and drawn[0].startswith("0 need you · 0 running · 1 waiting")
    assert any("INTERRUPTED" in line for line in drawn)


def test_what_others_write_is_seen_and_the_rest_is_not_read_again(project: Project, tmp_path: Path) -> None:
    """A second process adds a task and pauses it."""
    first = add(project, "First")
    with closing(Board(project)) as board:
        before = {row.id: row for row in board.rows}
        with Project.open(tmp_path, {}) as other:
            second = add(other, "Second")
            other.pause(second)
        board.poll()
        assert [(row.id, row.status) for row in board.rows] == [(second, "paused"), (first, "pending")]
        assert board.totals.groups["needs_you"] == 1
        assert board.rows[1] == before[first]


def test_what_we_write_ourselves_is_seen_when_asked_for(project: Project) -> None:
    """SQLite tells a connection only of the others."""
    task = add(project, "First")
    with closing(Board(project)) as board:
        project.pause(task)
        board.poll(at_once=True)
        assert board.rows[0].status == "paused"


def test_of_ten_thousand_tasks_each_section_shows_some(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chosen one is in sight, and its section has the room; only what is in sight is looked up."""
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
    """From the line that is asked for."""

    lines = [Text(f"line {number}") for number in range(100)]
    drawn = [line.plain for line in page_screen("log of x", lines, Screen(page="log"), (80, 10), 93)]
    assert drawn[0] == "log of x  100/100" and drawn[1:8] == [f"line {n}" for n in range(93, 100)]


def test_away_from_a_terminal_the_same_is_plain_text(busy: Board) -> None:
    """Every section, no keys, and nothing that steers a terminal."""
    told = snapshot(busy, time.time())
    assert [line for line in told.splitlines() if line in HEADINGS] == [*HEADINGS]
    assert "q quit" not in told and not set(told) & set("\x1b\x07\x9b\u202e")


def test_a_project_without_tasks_says_so(project: Project) -> None:
    """And takes no harm."""
    with closing(Board(project)) as board:
        assert "No tasks yet." in draw(board, Screen())
        assert snapshot(board, time.time()).startswith("0 need you")


def test_a_log_is_drawn_as_the_command_draws_it_and_read_on(project: Project) -> None:
    """Each look adds what has come since; nothing that an agent says steers the terminal."""
    task = add(project, "One")
    folder = project.layout.task(task) / "transcripts"
    folder.mkdir(parents=True)
    (folder / "implement-001.md").touch()
    story = folder / "implement-001.story.ndjson"
    pages = Pages(project)
    assert pages.read("log", task, 80)[1][0].plain == f"{task} has not been started."
    for words in ("first \x1b[2J", "second"):
        with story.open("ab") as file:
            file.write(msgspec.json.encode({"at": 1.0, "type": "text_said", "text": words}) + b"\n")
        title, lines = pages.read("log", task, 80)
    assert title == f"log of {task}" and pages.length == 3
    assert [line.plain for line in lines] == ["first \\x1b[2J", "", "second"]
    assert pages.read("diff", task, 80)[1][0].plain.startswith("there is nothing to compare")
    assert pages.read("help", task, 80)[1][0].plain == "Move"


def test_a_cost_that_nobody_knows_is_not_nothing() -> None:
    """An agent that reports no cost was not free."""
    totals = Totals({"running": 1}, 0, None)
    assert "$ unknown today" in header(totals, 100).plain
    assert "$0.00 today" in header(Totals({}, 0, 0.0), 100).plain

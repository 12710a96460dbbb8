"""The description of a running task: activity, duration and progress."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.cli.terminal.run.activity import (
    count_files,
    describe_activity,
    format_countdown,
    read_last_line,
    worktree_share,
)
from ostler.cli.terminal.run.bar import draw_bar
from ostler.files.layout import Layout
from ostler.views.lists.lanes import Lane

NOW = 1_900_000_000.0


@pytest.mark.parametrize(
    ("lane", "printed", "words"),
    [
        (Lane("t", NOW, activity="Edit \x1b[31mx.py"), "", "Edit \\x1b[31mx.py"),
        (Lane("t", NOW, activity="waits: a place", began=NOW - 75), "", "waits: a place, for 1 min"),
        (
            Lane("t", NOW, activity="runs `npm ci`", began=NOW - 4),
            "added\x1b[2K 12",
            "runs `npm ci`, for 4 s: added\\x1b[2K 12",
        ),
        (
            Lane("t", NOW, activity="runs " + "x" * 90, began=NOW),
            "end",
            f"runs {'x' * 34}…, for 0 s: end",
        ),
    ],
)
def test_the_line_describes_the_activity(lane: Lane, printed: str, words: str) -> None:
    """Steps without an agent show their duration; output of programs is escaped."""
    assert describe_activity(lane, NOW, printed) == words


def test_a_wait_whose_end_is_known_has_a_bar() -> None:
    """It fills from the start of the wait to its end."""
    lane = Lane("t", NOW, activity="waits: opus is at its limit", began=NOW - 30, until=NOW + 90)
    assert describe_activity(lane, NOW).startswith("▕██▌       ▏ waits: opus is at its limit, resumes at ")
    assert describe_activity(lane, NOW).endswith(", in 1:30")
    assert describe_activity(lane, NOW + 91).endswith(", now")


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0, " " * 10), (0.5, "█" * 5 + " " * 5), (1, "█" * 10), (7, "█" * 10), (-1, " " * 10)],
)
def test_a_bar_is_filled_so_far_and_never_overflows(share: float, drawn: str) -> None:
    """The width is constant."""
    assert draw_bar(share) == f"▕{drawn}▏"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0:00"), (9.4, "0:09"), (754, "12:34"), (3600, "1:00:00"), (-5, "0:00")]
)
def test_a_countdown_reads_like_a_clock(seconds: float, words: str) -> None:
    """Hours are shown only when needed."""
    assert format_countdown(seconds) == words


def test_a_worktree_in_creation_has_a_share(tmp_path: Path) -> None:
    """Files are counted on disk, at most once a second, up to the total."""
    layout = Layout(tmp_path)
    folder = layout.worktrees / "t" / "deep"
    folder.mkdir(parents=True)
    for number in range(5):
        (folder / str(number)).touch()
    lane = Lane("t", NOW, activity="makes the worktree", began=NOW, files=10)
    share = worktree_share(lane, layout)
    assert share == 0.5
    assert describe_activity(lane, NOW, share=share) == "▕█████     ▏ makes the worktree, for 0 s"
    assert worktree_share(Lane("t", NOW), layout) is None
    assert count_files(str(folder), 3, 0) == 3


def test_the_last_line_of_a_log_is_the_last_non_empty_one(tmp_path: Path) -> None:
    """Carriage returns count as line ends; a missing file has no last line."""
    log = tmp_path / "log"
    assert read_last_line(log) == ""
    log.write_bytes(b"x" * 5000 + b"\nCollecting a\rCollecting b\r\n\n")
    assert read_last_line(log) == "Collecting b"

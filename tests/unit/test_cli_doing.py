"""What a running task does, in words: how long it takes already, or still."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.cli.doing import bar, count_below, countdown, doing, last_line, made_share
from ostler.files.layout import Layout
from ostler.views.lanes import Lane

NOW = 1_900_000_000.0


@pytest.mark.parametrize(
    ("lane", "said", "words"),
    [
        (Lane("t", NOW, doing="Edit \x1b[31mx.py"), "", "Edit \\x1b[31mx.py"),
        (Lane("t", NOW, doing="waits: a place", began=NOW - 75), "", "waits: a place, for 1 min"),
        (
            Lane("t", NOW, doing="runs `npm ci`", began=NOW - 4),
            "added\x1b[2K 12",
            "runs `npm ci`, for 4 s: added\\x1b[2K 12",
        ),
        (
            Lane("t", NOW, doing="runs " + "x" * 90, began=NOW),
            "end",
            f"runs {'x' * 34}…, for 0 s: end",
        ),
    ],
)
def test_the_line_says_what_goes_on(lane: Lane, said: str, words: str) -> None:
    """With its time where something besides an agent takes it; what a program prints steers nothing."""
    assert doing(lane, NOW, said) == words


def test_a_wait_whose_end_is_known_has_a_bar() -> None:
    """From its beginning to its end, with both as a person reads them."""
    lane = Lane("t", NOW, doing="waits: opus is at its limit", began=NOW - 30, until=NOW + 90)
    assert doing(lane, NOW).startswith("▕██▌       ▏ waits: opus is at its limit, on again at ")
    assert doing(lane, NOW).endswith(", in 1:30")
    assert doing(lane, NOW + 91).endswith(", now")


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0, " " * 10), (0.5, "█" * 5 + " " * 5), (1, "█" * 10), (7, "█" * 10), (-1, " " * 10)],
)
def test_a_bar_is_filled_so_far_and_never_overflows(share: float, drawn: str) -> None:
    """Always as wide."""
    assert bar(share) == f"▕{drawn}▏"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0:00"), (9.4, "0:09"), (754, "12:34"), (3600, "1:00:00"), (-5, "0:00")]
)
def test_a_countdown_reads_like_a_clock(seconds: float, words: str) -> None:
    """Hours only where there are any."""
    assert countdown(seconds) == words


def test_a_worktree_that_is_made_has_a_share(tmp_path: Path) -> None:
    """Counted on the disk, at most once in a second, and never more than all."""
    layout = Layout(tmp_path)
    folder = layout.worktrees / "t" / "deep"
    folder.mkdir(parents=True)
    for number in range(5):
        (folder / str(number)).touch()
    lane = Lane("t", NOW, doing="makes the worktree", began=NOW, files=10)
    share = made_share(lane, layout)
    assert share == 0.5
    assert doing(lane, NOW, share=share) == "▕█████     ▏ makes the worktree, for 0 s"
    assert made_share(Lane("t", NOW), layout) is None
    assert count_below(str(folder), 3, 0) == 3


def test_the_last_line_of_a_log_is_the_last_that_says_something(tmp_path: Path) -> None:
    """Also where a program draws over its own line, and where there is no file yet."""
    log = tmp_path / "log"
    assert last_line(log) == ""
    log.write_bytes(b"x" * 5000 + b"\nCollecting a\rCollecting b\r\n\n")
    assert last_line(log) == "Collecting b"

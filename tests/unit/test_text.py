"""Text is shortened for lists and messages in one way."""

from __future__ import annotations

from ostler.text import describe_os_error, first_line, format_size, last_line, one_line


def test_one_line_joins_all_lines() -> None:
    """A message stays on one line and within its length."""
    assert one_line(" a\n\tb  c ") == "a b c"
    assert one_line("word " * 100, max_length=12) == "word word w…"


def test_first_and_last_line_skip_blank_lines() -> None:
    """The first line of an error, and the last line of a log."""
    assert first_line("\n  first \nsecond") == "first"
    assert first_line("abcdef", max_length=4) == "abc…"
    assert last_line("first\n last \n\n") == "last"
    assert last_line("") == ""


def test_sizes_for_people() -> None:
    """A kB has 1024 bytes."""
    sizes = [0, 1023, 1024, 1 << 20, 5 << 29]
    assert [format_size(size) for size in sizes] == ["0 B", "1023 B", "1.0 kB", "1.0 MB", "2.5 GB"]


def test_the_reason_of_a_system_error_is_part_of_a_sentence() -> None:
    """In lower case after a colon; an error of a library may have no number."""
    assert describe_os_error(FileNotFoundError(2, "No such file or directory")) == "no such file or directory"
    assert describe_os_error(OSError("Timed out")) == "timed out"

"""A task's transcript as one text of bounded length."""

from __future__ import annotations

from pathlib import Path

from ostler.mcp.resources import read_transcript


def write(folder: Path, name: str, text: str) -> None:
    (folder / "transcripts").mkdir(exist_ok=True)
    (folder / "transcripts" / name).write_text(text)


def test_attempts_follow_each_other(tmp_path: Path) -> None:
    """In their order; the answer files are not attempts."""
    write(tmp_path, "test-010.md", "third")
    write(tmp_path, "implement-001.md", "first")
    write(tmp_path, "implement-002.md", "second")
    write(tmp_path, "implement-002.answer.md", "not this")
    text = read_transcript("t", tmp_path)
    assert text == "first\nsecond\nthird"


def test_of_a_long_one_the_end_is_kept(tmp_path: Path) -> None:
    """The newest attempt whole, the end of the one before, and how much is missing."""
    write(tmp_path, "implement-001.md", "a" * 70)
    write(tmp_path, "implement-002.md", "b" * 50 + "c" * 40)
    write(tmp_path, "implement-003.md", "d" * 60)
    text = read_transcript("t", tmp_path, max_bytes=100)
    assert text.startswith("(120 bytes omitted; `ostler log t` prints all.)\n")
    assert text.endswith(f"all.)\n\n{'c' * 40}\n{'d' * 60}")


def test_a_cut_in_the_middle_of_a_letter_is_no_mistake(tmp_path: Path) -> None:
    """The incomplete character is shown as unreadable."""
    write(tmp_path, "implement-001.md", "ü" * 10)
    assert read_transcript("t", tmp_path, max_bytes=3).endswith("all.)\n\n\ufffdü")


def test_a_task_that_was_not_begun_has_a_sentence(tmp_path: Path) -> None:
    """Instead of nothing at all."""
    assert read_transcript("t", tmp_path) == "t has not been started.\n"

"""Tasks from Markdown files: which are taken, in which order, and the messages for invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.cli.task_input import read_text
from ostler.errors import UsageError
from ostler.sources.markdown import find_files, read_files


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for name in ("b.md", "a.md", ".hidden.md", "c.txt", "deep/d.md", ".git/e.md"):
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Task {path.stem}\n\nText.\n")
    return tmp_path / "notes"


def names(paths: list[str]) -> list[str]:
    return [Path(path).name for path in paths]


def test_a_directory_is_its_markdown(notes: Path) -> None:
    """Sorted, without hidden and other files; subdirectories only with the option."""
    assert names(find_files([str(notes)], recursive=False)) == ["a.md", "b.md"]
    assert names(find_files([str(notes)], recursive=True)) == ["a.md", "b.md", "d.md"]


def test_named_files_are_taken_as_they_are(notes: Path) -> None:
    """In the given order, each once, with any name."""
    given = [str(notes / "c.txt"), "-", str(notes), str(notes / "a.md")]
    assert names(find_files(given, recursive=False)) == ["c.txt", "-", "a.md", "b.md"]


def test_an_empty_directory_is_a_mistake(notes: Path) -> None:
    """The message names the option that searches further."""
    (notes / "empty").mkdir()
    with pytest.raises(UsageError) as caught:
        find_files([str(notes / "empty")], recursive=False)
    assert "--recursive" in caught.value.hint


def test_a_source_is_the_same_from_everywhere(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its path in the project, or by its absolute path outside."""
    monkeypatch.chdir(notes)
    (inner,), _ = read_files(["a.md"], tmp_path, read_text)
    (outer,), _ = read_files([str(notes / "a.md")], notes / "deep", read_text)
    assert (inner.task.title, inner.task.source) == ("Task a", "file:notes/a.md")
    assert outer.task.source == f"file:{notes / 'a.md'}"


def test_every_mistake_has_its_line(notes: Path) -> None:
    """The mistakes of all files are reported at once; valid files are read."""
    (notes / "x.md").write_text("---\ntitle: X\npriorty: P1\nweight: huge\n---\n")
    (notes / "y.md").write_bytes(b"# caf\xe9\n")
    (notes / "z.md").write_text("\n\n")
    found, mistakes = read_files(find_files([str(notes)], recursive=False), notes, read_text)
    assert [one.task.title for one in found] == ["Task a", "Task b"]
    first, second, third, fourth = mistakes
    assert first.startswith(f"{notes / 'x.md'}:3: unknown key 'priorty'")
    assert second.startswith(f"{notes / 'x.md'}:4: weight")
    assert "not UTF-8" in third and "no first line" in fourth


def test_stdin_is_identified_by_its_text(notes: Path) -> None:
    """The same text is the same task, another text is another task."""
    one, again, other = (
        read_files(["-"], notes, lambda _, text=text: text)[0][0].task for text in ("# A", "# A", "# B")
    )
    assert one.source == again.source != other.source
    assert one.source.startswith("stdin:")


def test_a_file_that_is_done_is_left_out(notes: Path) -> None:
    """It is left out with a message; an import ignores a schedule."""
    path = notes / "a.md"
    path.write_text("---\ntitle: A\nstatus: completed\n---\n")
    (done,), _ = read_files([str(path)], notes, read_text)
    assert done.skipped and "skipped" in done.notes[0]
    path.write_text('---\ntitle: A\nschedule: "0 6 * * 1"\n---\n')
    (timed,), _ = read_files([str(path)], notes, read_text)
    assert not timed.skipped and f"{path}:3: only ostler worker uses the schedule" in timed.notes[0]

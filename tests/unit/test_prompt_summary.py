"""The summary of earlier work for an agent without its session."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ostler.model.attempt import Attempt
from ostler.model.change import FileChange
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.prompt.builder import CallHistory, WorkingDirectory, build_prompt
from ostler.prompt.completion import check_phase_completion
from ostler.prompt.summary import WorkHistory, summarize_work

MARK = "<phase_complete>true</phase_complete>"


def attempt(number: int = 1, status: str = "failed", message: str = "", ms: int | None = None) -> Attempt:
    return Attempt(
        *(TaskId("greet-ab12"), "greet-ab12/1.implement.1.1/call", "r", "implement", 2, "claude", 1.0),
        number=number,
        status=status,  # pyright: ignore[reportArgumentType]
        message=message,
        duration_ms=ms,
    )


def test_everything_that_is_known_is_reported() -> None:
    """Attempts with their results, files with their lines, commits, warnings, the last answer and the log."""
    work = WorkHistory(
        attempts=(attempt(1, "failed", "the agent exited with status 2", 12_400), attempt(2, "running")),
        files=(FileChange("src/gate.py", 10, 3), FileChange("logo.png")),
        commits=("abc1234 oil the hinge",),
        warnings=("NO_MARK",),
        last_answer="The hinge is oiled.\nThe latch is not.",
        log_tail="- Bash make test",
    )
    text = summarize_work(work)
    for line in (
        "## The previous session was lost",
        "- 1 (implement, iteration 2, claude) failed after 12 s: the agent exited with status 2",
        "- 2 (implement, iteration 2, claude) interrupted",
        "- `src/gate.py` (+10 -3)",
        "- `logo.png` (binary)",
        "- abc1234 oil the hinge",
        "Warnings: NO_MARK.",
        "> The hinge is oiled.",
        "> The latch is not.",
        "> - Bash make test",
    ):
        assert line in text.splitlines()


def test_missing_results_are_stated() -> None:
    """No list is empty; no change and unknown changes differ."""
    nothing, unknown = summarize_work(WorkHistory(files=())), summarize_work(WorkHistory())
    assert "No file was changed." in nothing and "is unknown" in unknown
    assert "- " not in nothing and ">" not in nothing and "Warnings" not in nothing


def test_long_work_is_reported_shortly() -> None:
    """It stays small: the newest attempts, the first files, both ends of a text."""
    work = WorkHistory(
        attempts=tuple(attempt(number, message="why " * 999) for number in range(1, 100)),
        files=tuple(FileChange(f"{'deep/' * 99}{number}", 1, 1) for number in range(5000)),
        commits=tuple(f"abc {number} " + "s" * 5000 for number in range(50)),
        last_answer=f"BEGINNING {'x' * 1_000_000} END",
        log_tail="y" * 1_000_000,
    )
    text = summarize_work(work)
    assert len(text) < 25_000
    assert "- 99 (" in text and "- 1 (" not in text and "- earlier ones" in text
    assert "(5000 in total)" in text and "- and more" in text
    assert "> BEGINNING" in text and "END" in text and "characters are left out" in text


@given(st.text(), st.text(), st.text(alphabet=st.characters()))
def test_odd_text_keeps_the_shape(name: str, message: str, answer: str) -> None:
    """Newlines, control characters and lone surrogates in names break no line."""
    work = WorkHistory(
        attempts=(attempt(message=message),),
        files=(FileChange(name, 1, 1),),
        commits=(message,),
        last_answer=answer.encode("utf-8", "replace").decode(),
    )
    text = summarize_work(work)
    assert text.encode()
    assert len([line for line in text.split("\n") if line.startswith("- ")]) == 3


def test_marks_in_it_do_not_count() -> None:
    """An echoed prompt, including an old answer with a mark, has no effect."""
    summary = summarize_work(
        WorkHistory(last_answer=f"Done.\n{MARK}", log_tail=MARK, files=(FileChange(MARK, 1, 1),))
    )
    prompt = build_prompt(Task("Greet"), WorkingDirectory("/w"), CallHistory(iteration=2, summary=summary))
    assert check_phase_completion(prompt, "implement") is None


def test_the_prompt_reports_it_once_and_asks_for_the_mark() -> None:
    """The summary replaces the last answer; after the first iteration the mark is requested."""
    past = CallHistory(
        iteration=2, last_answer="half", summary=summarize_work(WorkHistory(last_answer="half"))
    )
    prompt = build_prompt(Task("Greet"), WorkingDirectory("/w", "b"), past)
    assert prompt.count("half") == 1 and "You have not stated whether" in prompt and "# Greet" in prompt
    first = build_prompt(
        Task("Greet"), WorkingDirectory("/w", "b"), CallHistory(summary=summarize_work(WorkHistory()))
    )
    assert "previous session was lost" in first and "You have not stated whether" not in first
    known = build_prompt(
        Task("Greet"), WorkingDirectory("/w"), CallHistory(session_has_task=True, summary="lost")
    )
    assert "lost" not in known


def test_another_agents_work_is_described_as_such() -> None:
    """An agent that takes over gets the other heading."""
    text = summarize_work(
        WorkHistory(attempts=(attempt(1),), last_answer="half", log_tail="- Bash make"), "codex"
    )
    assert text.startswith("## Another agent worked on this before you")
    assert "claude" in text and "session" not in text and "our last answer" not in text
    assert summarize_work(WorkHistory(attempts=(attempt(1),)), "claude").startswith(
        "## The previous session was lost"
    )

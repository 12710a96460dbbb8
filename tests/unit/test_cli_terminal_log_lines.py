"""The log of an attempt on a screen: narrow and wide, with and without colour."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.cli.terminal.log_lines import LogRenderer, LogStyle
from ostler.cli.terminal.text import display_width

ANSI = re.compile(r"\x1b\[[0-9;]*m")
AT = 1_700_000_000.0
USAGE = {"input_tokens": 600, "output_tokens": 35, "cache_read_tokens": 0, "cache_write_tokens": 0}
BEGAN = {
    "type": "attempt_began",
    "schema": "ostler.attempt-log/1",
    "task": "greet-ab12",
    "phase": "implement",
    "number": 2,
    "iteration": 1,
    "executor": "claude",
    "model": "opus",
}
STARTED = {"type": "session_started", "session_id": "s-1", "model": "opus", "version": "2.1"}
ENDED = {
    "type": "attempt_ended",
    "status": "succeeded",
    "code": None,
    "message": "",
    "seconds": 1.8,
    "usage": USAGE,
    "cost_usd": 0.25,
}


def printed(text: str) -> dict[str, Any]:
    return {"type": "text_received", "text": text}


def used(tool: str, detail: str = "", use: str = "u1", **given: Any) -> dict[str, Any]:
    edits = given.pop("edits", None)
    entry = {"type": "tool_used", "id": use, "tool": tool, "detail": detail, "input": given}
    return entry | ({"edits": edits} if edits else {})


def returned(text: str = "", use: str = "u1", failed: bool = False) -> dict[str, Any]:
    return {"type": "tool_returned", "id": use, "text": text, "failed": failed}


def draw(*entries: dict[str, Any], style: LogStyle | None = None, seconds: float = 0.0) -> list[str]:
    lines = LogRenderer(style or LogStyle())
    stamped = ({"at": AT + seconds * number, **entry} for number, entry in enumerate(entries))
    return [line for entry in stamped for line in lines.render(entry)]


def test_attempt_reads_from_top_to_bottom() -> None:
    """Header, session, text, tool calls with results, and the end."""
    edit = {"path": "a.py", "old": "x = 1\n", "new": "x = 2\n"}
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(AT))
    history = draw(
        BEGAN,
        STARTED,
        printed("I run it."),
        used("Bash", "make test", command="make test"),
        returned("FAILED\n"),
        printed("I mend it."),
        used("Edit", "a.py", "u2", edits=[edit]),
        returned("The file was updated.", "u2"),
        ENDED,
    )
    assert history == [
        f"── implement, attempt 2 · claude · opus · {when}",
        "session s-1 · 2.1",
        "",
        "I run it.",
        "",
        "→ run    make test",
        "    FAILED",
        "",
        "I mend it.",
        "",
        "→ edit   a.py  +1 -1",
        "",
        "✓ succeeded (1.8 s, 635 tokens, $0.25)",
    ]


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ({"type": "tool_denied", "tool": "Bash", "detail": "rm -rf /"}, "✗ Bash denied: rm -rf /"),
        (
            {"type": "retry_reported", "code": "RATE_LIMITED", "delay_seconds": 30.0},
            "… waits 30 s for its provider (RATE_LIMITED)",
        ),
        (
            {"type": "session_replaced", "session_id": "s", "resumed": False},
            "! the session was lost; a new session starts",
        ),
        (
            {"type": "session_replaced", "session_id": "s", "resumed": True},
            "! the session exists already and continues",
        ),
        ({"type": "warning_raised", "message": "beware\x1b[2J"}, "! beware\\x1b[2J"),
        (
            ENDED | {"status": "failed", "code": "TIMEOUT", "message": "too slow", "seconds": 95.0},
            "✗ failed: TIMEOUT: too slow (1 min 35 s, 635 tokens, $0.25)",
        ),
        (
            ENDED | {"status": "interrupted", "code": "INTERRUPTED", "message": "stopped", "cost_usd": None},
            "■ interrupted: stopped (1.8 s, 635 tokens)",
        ),
    ],
)
def test_other_entries_have_a_message(entry: dict[str, Any], line: str) -> None:
    """Waits, warnings, denials and endings take one message each."""
    assert draw(entry) == [line]


@pytest.mark.parametrize("entry", [{"type": "usage_reported", "usage": USAGE}, {"type": "moon_landed"}])
def test_usage_and_unknown_entries_have_no_line(entry: dict[str, Any]) -> None:
    """Usage is shown at the end; entries of newer versions are skipped."""
    assert draw(printed("a"), entry, printed("b")) == ["a", "", "b"]


def test_a_result_takes_one_line() -> None:
    """A command shows how it ended, another tool how its result began; reading and searching say enough."""
    output = "\n".join(f"line {n}" for n in range(20))
    assert draw(used("Bash", "make", command="make"), returned(output))[1:] == [
        "    line 19 (last of 20 lines)"
    ]
    assert draw(used("WebFetch", "https://x"), returned(output))[1:] == ["    line 0 (first of 20 lines)"]
    assert draw(used("Bash", "make", command="make"), returned("\n one \n\n"))[1:] == ["    one"]
    for tool in ("Read", "Grep", "Glob", "LS", "TodoWrite", "read_file", "list_directory"):
        assert len(draw(used(tool, "a.py"), returned(output))) == 1
        assert draw(used(tool, "a.py"), returned("not there", failed=True))[1:] == ["    ✗ not there"]


@pytest.mark.parametrize(
    ("tool", "verb"),
    [
        ("Bash", "run"),
        ("run_shell_command", "run"),
        ("command_execution", "run"),
        ("Read", "read"),
        ("MultiEdit", "edit"),
        ("str_replace", "edit"),
        ("write_file", "write"),
        ("Glob", "search"),
        ("WebSearch", "look up"),
        ("web_fetch", "fetch"),
        ("update_plan", "plan"),
        ("Task", "delegate"),
        ("mcp__db__query", "db query"),
        ("Frobnicate", "Frobnicate"),
    ],
)
def test_a_tool_has_a_verb(tool: str, verb: str) -> None:
    """For the names that agents use; another name is shown as it is."""
    assert draw(used(tool, "x")) == [f"→ {verb:<6} x"]
    assert draw(used(tool, "x"), style=LogStyle(full=True)) == [f"→ {tool:<6} x"]


def test_json_is_left_out() -> None:
    """Answers to a review, marks, structured answers, and the input and result of tools."""
    replies = '```json\n{"replies": [{"comment": 1, "status": "changed", "where": "", "text": "x"}]}\n```'
    done = f"I changed it.\n\n{replies}\n\n<phase_complete>true</phase_complete>"
    verdict = (
        '{"verdict": "fail", "findings": [{"line": 1}, {"line": 2}], "fixed": false, "note": "Two\\nlines."}'
    )
    entries = (
        printed(done),
        printed('{"status": "complete", "summary": "It greets."}'),
        printed(verdict),
        used("mcp__db__query", '{"sql": "select 1"}'),
        returned('[{"one": 1}]'),
        printed("<phase_complete>true</phase_complete>"),
    )
    assert draw(*entries) == [
        "I changed it.",
        "",
        "It greets.",
        "",
        "- verdict: fail",
        "- findings: 2 entries",
        "- fixed: no",
        "- note: Two lines.",
        "",
        "→ db query",
    ]
    full = "\n".join(draw(*entries, style=LogStyle(full=True)))
    for text in ('"replies"', "<phase_complete>", verdict, '{"sql": "select 1"}', '[{"one": 1}]'):
        assert text in full


def test_thoughts_are_shown_in_full_only() -> None:
    thought = {"type": "thinking_received", "text": "The test is wrong."}
    assert draw(printed("a"), thought) == ["a"]
    assert draw(printed("a"), thought, style=LogStyle(full=True)) == ["a", "", "The test is wrong."]


def test_full_leaves_nothing_out() -> None:
    """It shows the complete command, output, diff and result."""
    edit = {"path": "a", "old": "", "new": "".join(f"{n}\n" for n in range(50))}
    entries = (
        used("Bash", "make", command="make\nmake test"),
        returned("\n".join(map(str, range(50)))),
        used("Write", "a", "u2", edits=[edit]),
        returned("written", "u2"),
    )
    lines = draw(*entries, style=LogStyle(full=True))
    assert lines[:3] == ["→ Bash   make", "    make", "    make test"]
    assert [line for line in lines if "…" in line] == []
    assert {"    49", "    + 49", "    written"} <= set(lines)


def test_a_late_result_names_its_tool() -> None:
    """Agents use several tools in parallel."""
    lines = draw(
        used("Bash", "make", "a", command="make"),
        used("Read", "b.py", "b"),
        returned("made", "a"),
        returned("text", "b"),
    )
    assert lines == [
        "→ run    make",
        "→ read   b.py",
        "← run make",
        "    made",
    ]


def test_a_failure_without_output_is_shown() -> None:
    """A failed tool without output is still reported."""
    assert draw(used("Bash", "false"), returned("", failed=True))[1:] == ["    ✗ failed"]
    tagged = returned("<tool_use_error>Error: no such tool</tool_use_error>", failed=True)
    assert draw(used("Grep", "x"), tagged)[1:] == ["    ✗ Error: no such tool"]


def test_a_denial_is_shown_once() -> None:
    """Agents repeat the denial as the result of the tool."""
    denial = {"type": "tool_denied", "tool": "Bash", "detail": "needs approv…"}
    lines = draw(used("Bash", "rm"), denial, returned("needs approval, you know", failed=True))
    assert lines == ["→ run    rm", "✗ Bash denied: needs approv…"]


def test_times_are_shown_on_a_wide_screen() -> None:
    """A wide screen shows each second once in the margin."""
    narrow = draw(printed("a"), printed("b"), style=LogStyle(99))
    assert narrow == ["a", "", "b"]
    wide = draw(used("A"), used("B"), used("C"), style=LogStyle(100), seconds=0.5)
    first, later = (time.strftime("%H:%M:%S", time.localtime(AT + more)) for more in (0, 1))
    assert wide == [f"{first}  → A", f"{'':10}→ B", f"{later}  → C"]


def test_colour_is_for_what_matters() -> None:
    """Red for failures, green for additions and success, dim for the rest."""
    edit = {"path": "a", "old": "x", "new": "y"}
    style = LogStyle(80, colour=True)
    entries = (used("Edit", "a", edits=[edit]), returned("no", failed=True), ENDED)
    lines = draw(*entries, style=style)
    assert lines[1] == "\x1b[31m    ✗ no\x1b[0m"
    full = draw(*entries, style=LogStyle(80, colour=True, full=True))
    assert full[1:4] == ["\x1b[31m    - x\x1b[0m", "\x1b[32m    + y\x1b[0m", "\x1b[31m    no\x1b[0m"]
    assert lines[-1].startswith("\x1b[32m✓ succeeded")


def test_text_of_an_older_version_is_drawn_as_it_is() -> None:
    """The transcript has its own heading."""
    assert draw(printed("# implement, attempt 1\n\nDone.\n")) == ["# implement, attempt 1", "", "Done."]


TEXTS = st.text(max_size=80)
ENTRIES = st.one_of(
    TEXTS.map(printed),
    st.builds(lambda tool, detail, command: used(tool, detail, command=command), TEXTS, TEXTS, TEXTS),
    st.builds(
        lambda old, new: used("Edit", "a", edits=[{"path": "a", "old": old, "new": new}]), TEXTS, TEXTS
    ),
    st.builds(lambda text, failed: returned(text, failed=failed), TEXTS, st.booleans()),
    TEXTS.map(lambda text: {"type": "warning_raised", "message": text}),
    TEXTS.map(lambda text: {"type": "tool_denied", "tool": text, "detail": text}),
    st.builds(lambda name, model: {**BEGAN, "executor": name, "model": model}, TEXTS, TEXTS),
    TEXTS.map(lambda text: {**ENDED, "status": "failed", "code": "X", "message": text}),
)


@given(
    columns=st.sampled_from((40, 80, 200)),
    entries=st.lists(ENTRIES, max_size=5),
    colour=st.booleans(),
    full=st.booleans(),
)
def test_every_line_fits_the_screen(
    columns: int, entries: list[dict[str, Any]], colour: bool, full: bool
) -> None:
    """No entry wraps or contains control characters."""
    for line in draw(*entries, style=LogStyle(columns, colour, full)):
        bare = ANSI.sub("", line) if colour else line
        assert display_width(bare) <= columns
        assert "\x1b" not in bare and "\n" not in bare and "\r" not in bare

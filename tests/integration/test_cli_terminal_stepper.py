"""`ostler run --step` at a terminal: the questions and the effect of each answer."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from person import Person
from world import World

ASKING = """
import asyncio
from ostler.cli.terminal.run.stepper import make_stepper
from ostler.calls.debugger import PrePromptEvent, PromptData, PromptOverride, StopRun

async def go():
    override = PromptOverride(make_stepper())
    for number in (1, 2, 3):
        prompt = "\\n".join(f"line {one} of prompt {number}" for one in range(1, 21))
        data = PromptData("sonnet", "claude", "claude-sonnet-5-5", "implement", 1, number, "/p/prompts/x.md")
        try:
            sent = await override.ask(PrePromptEvent("add-it-1234", 0.0, prompt, data))
        except StopRun:
            print("STOPPED")
            return
        print("SENT", repr(sent))

asyncio.run(go())
"""


def person(tmp_path: Path, editor: str = "false") -> Person:
    environ = {**os.environ, "EDITOR": editor}
    environ.pop("VISUAL", None)
    return Person([sys.executable, "-c", ASKING], tmp_path, environ)


def editor(tmp_path: Path, script: str) -> str:
    """Create an editor that runs the script on the file in $1."""
    path = tmp_path / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_the_page_shows_what_is_about_to_start(tmp_path: Path) -> None:
    """Task, phase, agent, model, attempt, the prompt's file and its first lines."""
    with person(tmp_path) as ada:
        page = ada.read_until("q stop > ")
        for fact in (
            "add-it-1234   implement 1",
            "agent    claude",
            "model    sonnet (claude-sonnet-5-5)",
            "attempt  1",
            "prompt   /p/prompts/x.md",
            "| line 12 of prompt 1\n    8 more lines",
        ):
            assert fact in page
        assert "line 13" not in page
        ada.type("a\n")
        assert "| line 20 of prompt 1" in ada.read_until("q stop > ")


def test_enter_continues_with_the_prompt(tmp_path: Path) -> None:
    """Every prompt is asked about."""
    with person(tmp_path) as ada:
        for number in (1, 2, 3):
            ada.answer("\n")
            ada.read_until(f"line 20 of prompt {number}'")
        assert ada.leave() == 0


def test_an_edited_prompt_is_sent_and_kept(tmp_path: Path) -> None:
    """For this attempt and later ones; the new text is shown before it is sent."""
    with person(tmp_path, editor(tmp_path, 'echo "Be quick." > "$1"')) as ada:
        ada.answer("e\n")
        assert "| Be quick." in ada.read_until("q stop > ")
        ada.type("\n")
        ada.read_until("SENT 'Be quick.\\n'")
        ada.answer("c\n")
        ada.read_until("SENT 'Be quick.\\n'")
        ada.read_until("SENT 'Be quick.\\n'")
        assert ada.leave() == 0


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("exit 1", "could not edit"),
        (': > "$1"', "The prompt is empty"),
        ("kill -9 $$", "could not edit"),
    ],
)
def test_an_edit_that_fails_changes_nothing(tmp_path: Path, script: str, printed: str) -> None:
    """The question is asked again with the previous prompt."""
    with person(tmp_path, editor(tmp_path, script)) as ada:
        ada.answer("e\n")
        ada.read_until(printed)
        ada.answer("\n")
        ada.read_until("SENT 'line 1 of prompt 1")


def test_continuing_without_asking(tmp_path: Path) -> None:
    """No further question is asked."""
    with person(tmp_path) as ada:
        ada.answer("c\n")
        assert ada.leave() == 0
        assert (ada.seen.count("SENT"), ada.seen.count("q stop > ")) == (3, 1)


@pytest.mark.parametrize("keys", ["q\n", "Q\n", "\x04"], ids=["q", "Q", "end of input"])
def test_stopping(tmp_path: Path, keys: str) -> None:
    """Nothing is sent, and StopRun is raised."""
    with person(tmp_path) as ada:
        ada.answer(keys)
        ada.read_until("STOPPED")
        assert ada.leave() == 0
        assert "SENT" not in ada.seen


def test_what_is_typed_before_the_question_does_not_answer_it(tmp_path: Path) -> None:
    """Two Enters in a row start one agent, not two."""
    with person(tmp_path) as ada:
        ada.answer("\n\n")
        ada.read_until("SENT")
        ada.answer("q\n")
        ada.read_until("STOPPED")
        assert ada.seen.count("SENT") == 1


def test_an_unknown_key_is_reported(tmp_path: Path) -> None:
    """The question is asked again; the input is escaped."""
    with person(tmp_path) as ada:
        ada.answer("x\x1b[2Jy\n")
        ada.read_until("unknown answer")
        ada.answer("q\n")
        ada.read_until("STOPPED")


@pytest.mark.parametrize(
    ("more", "printed"),
    [((), "needs a terminal"), (("--json",), "cannot be combined with --json")],
)
def test_stepping_needs_a_terminal(tmp_path: Path, more: tuple[str, ...], printed: str) -> None:
    """Without one: one error, exit 2, and no task is created."""
    world = World(tmp_path)
    done = world.ostler("run", "--step", "-p", "Add a greeting", *more, code=2)
    assert printed in done.stderr
    assert not (world.root / ".ostler").exists()

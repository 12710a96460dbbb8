"""Scripts of the scripted agent, right and wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.executors.script import ScriptInvalid, parse, script_of_file, script_of_prompt

GOOD = """\
- say: hello
- edit: {path: a.txt, content: "x"}
- run: make
- sleep: 1
- tool: {name: look}
- fail: {code: RATE_LIMITED, message: slow down}
"""


def test_steps_are_complete() -> None:
    """Every verb is read, and what is left out has its default."""
    steps = parse(GOOD, "s.yaml")
    assert [next(iter(step)) for step in steps] == ["say", "edit", "run", "sleep", "tool", "fail"]
    assert steps[1]["edit"] == {"path": "a.txt", "content": "x", "append": None, "replace": None, "by": ""}
    assert steps[5]["fail"] == {"code": "RATE_LIMITED", "exit": 1, "message": "slow down"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("say: hello", "s.yaml:1: expected a list of steps"),
        ("", "s.yaml:1: expected a list of steps"),
        ("- say: a\n- shout: b", "s.yaml:2: expected one of say, edit, run, sleep, fail, tool"),
        ("- say: a\n  run: b", "s.yaml:1: expected one of"),
        ("- just words", "s.yaml:1: expected one of"),
        ("- say: a\n- sleep: long", "s.yaml:2: sleep: Expected `float`, got `str`"),
        ("- edit: {content: x}", "s.yaml:1: edit: Object missing required field `path`"),
        ("- edit: {path: a}", "s.yaml:1: edit: give exactly one of content, append, replace"),
        ("- edit: {path: a, content: x, append: y}", "s.yaml:1: edit: give exactly one of"),
        ("- edit: {path: a, path: b, content: x}", "s.yaml:1: 'path' is given twice"),
        ("- fail: {code: NO_SUCH_CODE}", "s.yaml:1: fail: Invalid enum value 'NO_SUCH_CODE'"),
        ("- say: a\n- say: [", "s.yaml:3: "),
        ("- say: &x a\n- say: *x", "s.yaml:2: aliases and tags are not allowed"),
        ("- say: !!python/object:os.system a", "s.yaml:1: aliases and tags are not allowed"),
        ("\t- say: a", "s.yaml:1: "),
        ("- say: " + "x" * (1 << 20), "s.yaml:1: the text is larger than 1 MiB"),
    ],
)
def test_mistake_is_one_sentence_with_its_line(text: str, message: str) -> None:
    """A bad script says where it is bad, in one line (E1)."""
    with pytest.raises(ScriptInvalid) as caught:
        parse(text + "\n", "s.yaml")
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message


def test_script_in_a_prompt() -> None:
    """The first fenced block counts, with the prompt's own line numbers; without one there is no script."""
    prompt = "# Task\n\n```ostler-script\n- say: a\n- shout: b\n```\n"
    with pytest.raises(ScriptInvalid, match=r"^prompt:5: "):
        script_of_prompt(prompt)
    assert script_of_prompt("```ostler-script\n- say: a\n```\n```ostler-script\n- say: b\n```") == [
        {"say": "a"}
    ]
    assert script_of_prompt("no script ```ostler-script``` here") is None


def test_unreadable_file(tmp_path: Path) -> None:
    """A script that is missing or no text is a mistake like any other."""
    with pytest.raises(ScriptInvalid, match="the script cannot be read"):
        script_of_file(tmp_path / "missing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ScriptInvalid, match="the script cannot be read"):
        script_of_file(tmp_path / "binary.yaml")

"""Valid and invalid scripts of the scripted executor."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.executors.scripted.script import ScriptInvalid, extract_script, load_script, parse_script

GOOD = """\
- say: hello
- edit: {path: a.txt, content: "x"}
- run: make
- sleep: 1
- tool: {name: look}
- fail: {code: RATE_LIMITED, message: slow down}
"""


def test_steps_are_complete() -> None:
    """Every action is parsed, with its defaults."""
    steps = parse_script(GOOD, "s.yaml")
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
    """An invalid script names the line, in one sentence (E1)."""
    with pytest.raises(ScriptInvalid) as caught:
        parse_script(text + "\n", "s.yaml")
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message


def test_script_in_a_prompt() -> None:
    """The first block counts, with the line numbers of the prompt; without a block there is no script."""
    prompt = "# Task\n\n```ostler-script\n- say: a\n- shout: b\n```\n"
    with pytest.raises(ScriptInvalid, match=r"^prompt:5: "):
        extract_script(prompt)
    assert extract_script("```ostler-script\n- say: a\n```\n```ostler-script\n- say: b\n```") == [
        {"say": "a"}
    ]
    assert extract_script("no script ```ostler-script``` here") is None


def test_unreadable_file(tmp_path: Path) -> None:
    """A file that is missing or not text is an invalid script."""
    with pytest.raises(ScriptInvalid, match="the script cannot be read"):
        load_script(tmp_path / "missing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ScriptInvalid, match="the script cannot be read"):
        load_script(tmp_path / "binary.yaml")

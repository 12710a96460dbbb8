"""What is shown of a tool call: relative paths, the pattern of a search, the progress of a todo list."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from ostler.calls.attempts.journal import create_notices
from ostler.calls.attempts.tool_detail import make_shortener
from ostler.executors.agent_json import summarize_input
from ostler.model.call import TextReceived, TodosReported, ToolDenied, ToolUsed
from ostler.model.notice import TodosReportedNotice
from ostler.model.todo import Todo

TREE = "/work/.ostler/worktrees/t-1"


def shown(tool: str, **members: object) -> str:
    """Return the detail of a call with this input."""
    raw = Raw(json.dumps(members).encode())
    event = make_shortener(TREE)(ToolUsed(tool, summarize_input(raw), "", raw))
    assert isinstance(event, ToolUsed)
    return event.detail


@pytest.mark.parametrize(
    ("members", "detail"),
    [
        ({"file_path": f"{TREE}/src/a.py"}, "src/a.py"),
        ({"command": f"cd {TREE} && pytest {TREE}/tests"}, "cd . && pytest tests"),
        ({"command": f"ls {TREE}"}, "ls ."),
        ({"file_path": f"{TREE}-other/a.py"}, f"{TREE}-other/a.py"),
        ({"file_path": f"/backup{TREE}/a.py"}, f"/backup{TREE}/a.py"),
        ({"pattern": "def main", "path": TREE}, "def main"),
        ({"pattern": "def main", "path": "."}, "def main"),
        ({"pattern": "def main", "path": f"{TREE}/src"}, "def main in src"),
        ({"pattern": "**/*.py"}, "**/*.py"),
        ({"path": "."}, "."),
    ],
)
def test_paths_are_relative_and_a_search_has_its_pattern(members: dict[str, str], detail: str) -> None:
    """The directory of the agent is left out, other directories are not touched."""
    assert shown("Tool", **members) == detail


@given(
    directory=st.sampled_from(["/a", "/a/a", "/a.b", "a"]),
    parts=st.lists(st.sampled_from(["/a", "/", "a", ".b", "-", " ", "@", "*", "_", "\n", "/a/a"])),
)
def test_a_directory_is_found_as_an_expression_finds_it(directory: str, parts: list[str]) -> None:
    """Nothing compiles an expression for each attempt; what is found is the same."""
    text = "".join(parts)
    expression = rf"(?<![\w.-]){re.escape(directory)}(?:/(?=[\w.@*-])|(?![\w.-]))"
    expected = re.sub(expression, lambda found: "" if found[0].endswith("/") else ".", text)
    assert make_shortener(directory)(ToolDenied("Read", text)) == ToolDenied("Read", expected)


def test_other_events_stay_as_they_are() -> None:
    """A denied tool has a relative path too; a text of the agent is not changed."""
    shorten = make_shortener(TREE)
    assert shorten(ToolDenied("Read", f"{TREE}/a")) == ToolDenied("Read", "a")
    text = TextReceived(f"I read {TREE}/a")
    assert shorten(text) is text


@pytest.mark.parametrize(
    ("tool", "key", "items"),
    [
        (
            "TodoWrite",
            "todos",
            [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}],
        ),
        (
            "todo_write",
            "todos",
            [{"content": "a", "status": "done"}, {"content": "b", "status": "in_progress"}],
        ),
        (
            "write_todos",
            "todos",
            [{"description": "a", "status": "completed"}, {"title": "b", "status": "in_progress"}],
        ),
        (
            "update_plan",
            "plan",
            [{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}],
        ),
    ],
)
def test_the_todo_list_of_each_agent_is_recorded(tool: str, key: str, items: list[dict[str, str]]) -> None:
    """A call of its tool has the progress as detail and adds the whole list to the feed."""
    assert shown(tool, **{key: items}) == "1 of 2 done: b"
    _, notice = create_notices([ToolUsed(tool, "", "", Raw(json.dumps({key: items}).encode()))])
    assert notice == TodosReportedNotice((Todo("a", "completed"), Todo("b", "in_progress")))


@pytest.mark.parametrize("data", [b"{}", b'{"todos":7}', b'{"todos":[7,{"content":7}]}', b"\xff", b"[]"])
def test_an_invalid_list_is_no_list(data: bytes) -> None:
    """Only the use of the tool is recorded."""
    assert len(create_notices([ToolUsed("TodoWrite", "", "", Raw(data))])) == 1


def test_a_list_that_is_no_tool_call_is_recorded() -> None:
    """Codex and ACP agents report their list in events of its own."""
    todos = (Todo("a"),)
    assert create_notices([TodosReported(todos)]) == [TodosReportedNotice(todos)]

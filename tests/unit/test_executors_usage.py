"""The agents count cached tokens in different ways; Ostler counts each token once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, CallResult
from ostler.model.command import Exit
from ostler.model.usage import Usage
from ostler.testing.fake_agent import fake_agent
from ostler.testing.mocks import MockCommandRunner

# 1000 tokens of prompt, of which 600 were read from the cache and, where it is reported, 300 written to it.
CODEX = {
    "input_tokens": 1000,
    "cached_input_tokens": 600,
    "cache_write_input_tokens": 300,
    "output_tokens": 50,
}
GEMINI = {"total_tokens": 1080, "input_tokens": 1000, "cached": 600, "input": 400, "output_tokens": 50}
QWEN = {"input_tokens": 1000, "cache_read_input_tokens": 600, "output_tokens": 50, "total_tokens": 1050}
CLAUDE = {
    "input_tokens": 100,
    "cache_read_input_tokens": 600,
    "cache_creation_input_tokens": 300,
    "output_tokens": 50,
}
OPENCODE = {"input": 100, "output": 30, "reasoning": 20, "cache": {"read": 600, "write": 300}}


def decode(kind: str, directory: Path, lines: list[dict[str, Any]], **call: Any) -> CallResult:
    """Read these lines with the executor of an agent, without a program."""
    settings = ExecutorSettings(command=str(fake_agent(directory, kind)))
    runner = MockCommandRunner([json.dumps(line).encode() for line in lines], Exit(0, 1.0))
    executor = ExecutorRegistry().get(kind)(kind, settings, runner)
    return asyncio.run(executor.spawn(AgentCall("i", "p", "s-1", **call), lambda _: None))


LINES: dict[str, list[dict[str, Any]]] = {
    "codex": [{"type": "turn.completed", "usage": CODEX}],
    "gemini": [{"type": "result", "status": "success", "stats": GEMINI}],
    "qwen": [{"type": "result", "result": "done", "usage": QWEN}],
    "claude": [{"type": "result", "result": "done", "usage": CLAUDE}],
    "opencode": [{"type": "step_finish", "sessionID": "s", "part": {"reason": "stop", "tokens": OPENCODE}}],
}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("codex", Usage(100, 50, 600, 300)),
        ("gemini", Usage(400, 80, 600)),
        ("qwen", Usage(400, 50, 600)),
        ("claude", Usage(100, 50, 600, 300)),
        ("opencode", Usage(100, 50, 600, 300)),
    ],
)
def test_each_token_is_counted_once(kind: str, expected: Usage, tmp_path: Path) -> None:
    """Input excludes tokens that were read from or written to the cache; thoughts are output."""
    assert decode(kind, tmp_path, LINES[kind]).usage == expected


def test_a_run_without_a_result_counts_once_too(tmp_path: Path) -> None:
    """The usage in the messages of qwen is read like that of its result."""
    message = {"id": "m-1", "content": [], "usage": QWEN}
    result = decode("qwen", tmp_path, [{"type": "assistant", "message": message}])
    assert (result.usage, result.session_usage) == (Usage(400, 50, 600), None)


@pytest.mark.parametrize(("kind", "input_tokens"), [("codex", 50), ("qwen", 200)])
def test_a_session_is_counted_from_where_it_was(kind: str, input_tokens: int, tmp_path: Path) -> None:
    """Running totals are compared by kind of token: cached tokens of an earlier run do not count again."""
    before = {"codex": Usage(50, 20, 300, 100), "qwen": Usage(200, 20, 300)}[kind]
    result = decode(kind, tmp_path, LINES[kind], session_usage=before)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (input_tokens, 30)
    assert result.usage.cache_read_tokens == 300

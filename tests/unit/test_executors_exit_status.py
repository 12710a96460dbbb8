"""The codes of exits, and of rejected arguments (A30)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.exit_status import RunStatus, classify_exit, classify_rejected_arguments
from ostler.executors.failures import FailureTable, text_rules
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall
from ostler.model.command import Exit, StopReason
from ostler.process.runner import DefaultCommandRunner


@pytest.mark.parametrize(
    ("stopped", "code"),
    [
        (StopReason.TIMEOUT, Code.TIMEOUT),
        (StopReason.IDLE, Code.IDLE_TIMEOUT),
        (StopReason.NEEDS_INPUT, Code.NEEDS_INPUT),
        (StopReason.AFTER_RESULT, Code.NO_RESULT),
        (StopReason.MEMORY, Code.AGENT_OOM),
    ],
)
def test_every_stop_has_its_code(stopped: StopReason, code: Code) -> None:
    """The reason of a stop decides, whatever the exit code."""
    assert classify_exit(Exit(-15, 1.0, stopped), "claude").code is code


def test_what_was_seen_is_in_the_message() -> None:
    """The message has the reason of the stop."""
    exit = Exit(-15, 312.4, StopReason.NEEDS_INPUT, "Do you trust the files?")
    printed = "claude was stopped after 312 s: the agent asks a question (Do you trust the files?)"
    assert classify_exit(exit, "claude") == RunStatus(Code.NEEDS_INPUT, printed)
    assert "after 0.2 s" in classify_exit(Exit(-15, 0.21, StopReason.TIMEOUT), "claude").message


HELP = "Options:\n  --auth-type   Authentication type, rate limit\n  -h, --help    show help\n"
REPORTED = {
    "claude": "error: unknown option '--x'",
    "codex": "error: unexpected argument '--x' found\n\nUsage: codex exec [OPTIONS]\n",
    "copilot": "error: unexpected argument '--x' found\n\n  tip: a similar argument exists\n",
    "cursor": "error: unknown option '--x'",
    "gemini": f"Unknown arguments: x\nUsage: gemini [options]\n{HELP}",
    "qwen": f"{HELP}",  # its help is so long that the sentence before it is lost
    "opencode": f"opencode run [message..]\n\nrun opencode with a message\n\n{HELP}",
    "gemini-acp": f"Unknown arguments: x\nUsage: gemini [options]\n{HELP}",
    "acp": "agent: unrecognized option '--x'",
}


def refusing(directory: Path, printed: str, status: int, version: str = "9.8.7") -> str:
    path = directory / "agent"
    answer = f'[ "$1" = --version ] && {{ echo "agent {version}"; exit; }}\n'
    path.write_text(f"#!/bin/sh\n{answer}cat >&2 <<'E'\n{printed}\nE\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("verb", ["spawn", "resume"])
@pytest.mark.parametrize("kind", REPORTED)
def test_refused_argument_is_reported_with_the_version(kind: str, verb: str, tmp_path: Path) -> None:
    """Every program executor returns AGENT_INCOMPATIBLE and names the version."""
    settings = ExecutorSettings(command=refusing(tmp_path, REPORTED[kind], 2 if kind == "codex" else 1))
    executor = ExecutorRegistry().get(kind)(kind, settings, DefaultCommandRunner())
    if verb == "resume" and not executor.capabilities.resumes:
        return
    call = AgentCall("i", "p", "s-1", cwd=str(tmp_path), env={"PATH": "/usr/bin:/bin"}, timeout_seconds=60)
    result = asyncio.run(getattr(executor, verb)(call, lambda _: None))
    assert result.code is Code.AGENT_INCOMPATIBLE, result.message
    assert "did not accept an argument of Ostler" in result.message
    assert "(found 9.8.7" in result.message


def test_program_without_a_version_is_still_reported(tmp_path: Path) -> None:
    """A program that rejects --version has no version in the message."""
    path = refusing(tmp_path, "", 1)
    Path(path).write_text("#!/bin/sh\necho \"error: unknown option '--x'\" >&2\nexit 1\n")
    executor = ExecutorRegistry().get("claude")(
        "claude", ExecutorSettings(command=path), DefaultCommandRunner()
    )
    call = AgentCall("i", "p", "s-1", cwd=str(tmp_path), env={"PATH": "/usr/bin:/bin"}, timeout_seconds=60)
    result = asyncio.run(executor.spawn(call, lambda _: None))
    assert result.message.endswith("(found no version, tested with 2.1.325)")


@pytest.mark.parametrize(
    "exit",
    [
        Exit(0, 0.1, stderr_tail=REPORTED["claude"]),
        Exit(3, 0.1, stderr_tail=REPORTED["claude"]),
        Exit(1, 0.1, stderr_tail=REPORTED["claude"], stdout_bytes=10),
        Exit(1, 0.1, stderr_tail=REPORTED["claude"], stopped=StopReason.TIMEOUT),
        Exit(1, 0.1, stderr_tail="Invalid API key. See --help"),
        Exit(1, 0.1, stderr_tail="an unknown error of the optional part"),
        Exit(1, 0.1, stderr_tail=""),
    ],
)
def test_other_endings_are_not_refusals(exit: Exit) -> None:
    """A run that started, was stopped or printed another error is not a rejected argument."""
    assert classify_rejected_arguments(exit, "agent") is None


def test_own_sentence_beside_the_help_is_the_reason() -> None:
    """A text of the agent's own table beside the help screen is the reason."""
    exit = Exit(1, 0.1, stderr_tail=f"Session not found\n{HELP}")
    assert (
        classify_rejected_arguments(
            exit, "agent", FailureTable(text_rules({"session not found": Code.SESSION_NOT_FOUND}))
        )
        is None
    )
    assert classify_rejected_arguments(exit, "agent") is not None

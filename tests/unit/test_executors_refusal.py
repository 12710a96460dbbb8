"""A program that does not know an argument of ours, as after an upgrade (A30)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.refusal import refusal_of
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall
from ostler.model.command import Exit, Stopped
from ostler.process.runner import DefaultCommandRunner

HELP = "Options:\n  --auth-type   Authentication type, rate limit\n  -h, --help    show help\n"
SAID = {
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


def refusing(place: Path, said: str, status: int, version: str = "9.8.7") -> str:
    path = place / "agent"
    answer = f'[ "$1" = --version ] && {{ echo "agent {version}"; exit; }}\n'
    path.write_text(f"#!/bin/sh\n{answer}cat >&2 <<'E'\n{said}\nE\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("verb", ["spawn", "resume"])
@pytest.mark.parametrize("kind", SAID)
def test_refused_argument_is_told_with_the_version(kind: str, verb: str, tmp_path: Path) -> None:
    """Every program executor ends with the code that is not retried, and names the version that it found."""
    settings = ExecutorSettings(command=refusing(tmp_path, SAID[kind], 2 if kind == "codex" else 1))
    executor = ExecutorRegistry().get(kind)(kind, settings, DefaultCommandRunner())
    if verb == "resume" and not executor.capabilities.resumes:
        return
    call = AgentCall("i", "p", "s-1", cwd=str(tmp_path), env={"PATH": "/usr/bin:/bin"}, timeout_seconds=60)
    result = asyncio.run(getattr(executor, verb)(call, lambda _: None))
    assert result.code is Code.AGENT_INCOMPATIBLE, result.message
    assert "does not know an argument of ours" in result.message
    assert "(found 9.8.7" in result.message


def test_program_without_a_version_is_still_told(tmp_path: Path) -> None:
    """One that refuses even --version has none to name."""
    path = refusing(tmp_path, "", 1)
    Path(path).write_text("#!/bin/sh\necho \"error: unknown option '--x'\" >&2\nexit 1\n")
    executor = ExecutorRegistry().get("claude")(
        "claude", ExecutorSettings(command=path), DefaultCommandRunner()
    )
    call = AgentCall("i", "p", "s-1", cwd=str(tmp_path), env={"PATH": "/usr/bin:/bin"}, timeout_seconds=60)
    result = asyncio.run(executor.spawn(call, lambda _: None))
    assert result.message.endswith("(found no version, proved with 2.1.325)")


@pytest.mark.parametrize(
    "exit",
    [
        Exit(0, 0.1, stderr_tail=SAID["claude"]),
        Exit(3, 0.1, stderr_tail=SAID["claude"]),
        Exit(1, 0.1, stderr_tail=SAID["claude"], stdout_bytes=10),
        Exit(1, 0.1, stderr_tail=SAID["claude"], stopped=Stopped.TIMEOUT),
        Exit(1, 0.1, stderr_tail="Invalid API key. See --help"),
        Exit(1, 0.1, stderr_tail="an unknown error of the optional part"),
        Exit(1, 0.1, stderr_tail=""),
    ],
)
def test_other_endings_are_not_refusals(exit: Exit) -> None:
    """An agent that has begun, was stopped, or says something else failed for another reason."""
    assert refusal_of(exit, "agent") is None


def test_own_sentence_beside_the_help_is_the_reason() -> None:
    """A program may print its help with every error: then what it says first counts."""
    exit = Exit(1, 0.1, stderr_tail=f"Session not found\n{HELP}")
    assert refusal_of(exit, "agent", {"session not found": Code.SESSION_NOT_FOUND}) is None
    assert refusal_of(exit, "agent") is not None

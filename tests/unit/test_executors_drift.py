"""What an installed program no longer has of that which its adapter counts on."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.executors.claude import ClaudeExecutor
from ostler.executors.codex import CodexExecutor
from ostler.executors.drift import Gone, find_drift, flags_used, options_in, read_help
from ostler.executors.known import PROGRAMS, KnownProgram
from ostler.executors.program import ProgramExecutor
from ostler.executors.registry import BUILT_IN, ExecutorRegistry
from ostler.testing.mocks import MockCommandRunner

CLAP = """Usage: codex exec [OPTIONS]

Options:
  -c, --config <key=value>
          Override a value. --gone is mentioned
          --prose at the start of a line of prose
      --json
  -m, --model <MODEL>     Model, as in --mentioned
"""
YARGS = """
Options:
  -h, --help         show help                          [boolean]
      --include-directories, --add-dir  more            [array]
      --format       format: default or --nothing
"""
COMMANDER = """
  --allowedTools, --allowed-tools <tools...>
      Comma separated
  -r, --resume [value]                  Resume a conversation
                                        --resumed is prose
  - a point of a list
"""


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (CLAP, {"-c", "--config", "--json", "-m", "--model"}),
        (YARGS, {"-h", "--help", "--include-directories", "--add-dir", "--format"}),
        (COMMANDER, {"--allowedTools", "--allowed-tools", "-r", "--resume"}),
        ("  \x1b[1m--json\x1b[0m  \x1b[2mbold\x1b[0m", {"--json"}),
        ("", set()),
        ("-----\n  ---x  y\n  --  z\n", set()),
    ],
)
def test_help_is_read_with_care(text: str, options: set[str]) -> None:
    """Options are what stands at the start of its line, in the screens of three kinds of parser."""
    assert options_in(text) == options


def test_flags_are_those_that_are_passed() -> None:
    """By the command that they stand behind; values, ids and the dash for stdin are none."""
    used = flags_used(CodexExecutor.dialect)
    assert set(used) == {("exec",), ("exec", "resume")}
    assert used["exec", "resume"] >= {"-c", "--json", "--model"}
    assert not any(flag in ("-", "m") or "=" in flag for flags in used.values() for flag in flags)
    claude = flags_used(ClaudeExecutor.dialect)[()]
    assert claude >= {"--resume", "--session-id", "--dangerously-skip-permissions", "--allowedTools"}


@pytest.mark.parametrize("kind", BUILT_IN)
def test_every_program_executor_can_be_looked_at(kind: str) -> None:
    """A dialect's flags can be listed without starting anything."""
    made = ExecutorRegistry().get(kind)(kind, ExecutorSettings(command="/bin/true"), MockCommandRunner())
    if isinstance(made, ProgramExecutor):
        assert all(isinstance(flags, frozenset) for flags in flags_used(made.dialect).values())


def program(place: Path, listed: set[str], more: str = "") -> str:
    path = place / "agent"
    lines = "".join(f"  {flag} <x>  what it does\n" for flag in sorted(listed))
    path.write_text(f"#!/bin/sh\n{more}\ncat <<'E'\nUsage: agent\n{lines}E\n")
    path.chmod(0o755)
    return str(path)


def test_nothing_is_gone_from_a_full_help(tmp_path: Path) -> None:
    """A program that lists every flag, and more, has not drifted."""
    listed = {*flags_used(ClaudeExecutor.dialect)[()], "--new"}
    assert find_drift(program(tmp_path, listed), ClaudeExecutor.dialect) == []


@pytest.mark.parametrize("flag", sorted(flags_used(ClaudeExecutor.dialect)[()]))
def test_each_flag_that_is_gone_is_named(flag: str, tmp_path: Path) -> None:
    """One line of the help is missing: exactly that flag is drift."""
    listed = flags_used(ClaudeExecutor.dialect)[()] - {flag}
    gone = find_drift(program(tmp_path, set(listed)), ClaudeExecutor.dialect)
    assert gone == [Gone((), (flag,))]
    assert str(gone[0]) == flag


def test_flag_of_one_command_is_told_with_it(tmp_path: Path) -> None:
    """Codex has help for each command: what only `exec resume` lost is told as such."""
    listed = set(flags_used(CodexExecutor.dialect)["exec",])
    path = program(
        tmp_path, listed, '[ "$2" = resume ] && { printf "  -c\\n  --model\\n  -h, --help\\n"; exit; }'
    )
    gone = find_drift(path, CodexExecutor.dialect)
    assert [(one.command, "--json" in one.flags) for one in gone] == [(("exec", "resume"), True)]
    assert str(gone[0]).endswith("for `exec resume`")


@pytest.mark.parametrize(
    "body",
    ["echo Usage: agent", "echo no such option --help >&2; exit 1", "exec tail -f /dev/null", "kill -9 $$"],
)
def test_program_without_help_tells_nothing(body: str, tmp_path: Path) -> None:
    """Unknown is not drift: not a word about a program whose help cannot be read."""
    path = tmp_path / "agent"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    assert read_help(str(path), seconds=0.5) is None
    assert find_drift(str(path), ClaudeExecutor.dialect, lambda at, _: read_help(at, seconds=0.5)) == []


def test_program_that_is_gone_tells_nothing() -> None:
    """Its absence is the probe's affair."""
    assert read_help("/nowhere/agent") is None


@pytest.mark.parametrize("known", PROGRAMS, ids=lambda known: known.name)
def test_proved_version_can_be_installed(known: KnownProgram) -> None:
    """What doctor offers after a drift is the one command for the version that was proved."""
    if known.proved:
        assert known.install_proved == f"{known.install}@{known.proved}"
    else:
        assert known.install_proved == ""

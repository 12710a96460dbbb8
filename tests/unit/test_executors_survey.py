"""The survey of installed agents: version, login, health, and drift."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.executors.codex import CodexExecutor
from ostler.executors.discover import PROGRAMS, AgentProgram
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.registry import BUILT_IN, ExecutorRegistry
from ostler.executors.survey import (
    Health,
    HealthState,
    LoginStatus,
    MissingFlags,
    find_drift,
    get_spec,
    list_flags,
    locate_programs,
    parse_options,
    probe_programs,
    read_help,
    survey_all,
    survey_installed,
)
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
def test_options_are_parsed_from_a_help_screen(text: str, options: set[str]) -> None:
    """An option is at the start of its line, in the help screens of three argument parsers."""
    assert parse_options(text) == options


def test_flags_are_those_that_are_passed() -> None:
    """Flags are grouped by subcommand; values, ids and the dash for stdin are not flags."""
    used = list_flags(CodexExecutor.spec)
    assert set(used) == {("exec",), ("exec", "resume")}
    assert used["exec", "resume"] >= {"-c", "--json", "--model"}
    assert not any(flag in ("-", "m") or "=" in flag for flags in used.values() for flag in flags)
    claude = list_flags(ClaudeExecutor.spec)[()]
    assert claude >= {"--resume", "--session-id", "--dangerously-skip-permissions", "--allowedTools"}


@pytest.mark.parametrize("kind", BUILT_IN)
def test_flags_of_every_program_executor_are_listed(kind: str) -> None:
    """The flags of a spec are listed without starting a program."""
    made = ExecutorRegistry().get(kind)(kind, ExecutorSettings(command="/bin/true"), MockCommandRunner())
    if isinstance(made, ProgramExecutor):
        assert all(isinstance(flags, frozenset) for flags in list_flags(made.spec).values())


def program(directory: Path, listed: set[str], more: str = "") -> str:
    path = directory / "agent"
    lines = "".join(f"  {flag} <x>  what it does\n" for flag in sorted(listed))
    path.write_text(f"#!/bin/sh\n{more}\ncat <<'E'\nUsage: agent\n{lines}E\n")
    path.chmod(0o755)
    return str(path)


def test_nothing_is_gone_from_a_full_help(tmp_path: Path) -> None:
    """A program that lists every flag, and more, has no drift."""
    listed = {*list_flags(ClaudeExecutor.spec)[()], "--new"}
    assert find_drift(program(tmp_path, listed), ClaudeExecutor.spec) == []


@pytest.mark.parametrize("flag", sorted(list_flags(ClaudeExecutor.spec)[()]))
def test_each_flag_that_is_gone_is_named(flag: str, tmp_path: Path) -> None:
    """A flag that is missing in the help is drift, and no other flag."""
    listed = list_flags(ClaudeExecutor.spec)[()] - {flag}
    gone = find_drift(program(tmp_path, set(listed)), ClaudeExecutor.spec)
    assert gone == [MissingFlags((), (flag,))]
    assert str(gone[0]) == flag


def test_missing_flag_names_its_subcommand(tmp_path: Path) -> None:
    """Codex has a help screen for each subcommand: a flag may be missing in only one of them."""
    listed = set(list_flags(CodexExecutor.spec)["exec",])
    path = program(
        tmp_path, listed, '[ "$2" = resume ] && { printf "  -c\\n  --model\\n  -h, --help\\n"; exit; }'
    )
    gone = find_drift(path, CodexExecutor.spec)
    assert [(one.command, "--json" in one.flags) for one in gone] == [(("exec", "resume"), True)]
    assert str(gone[0]).endswith("for `exec resume`")


@pytest.mark.parametrize(
    "body",
    ["echo Usage: agent", "echo no such option --help >&2; exit 1", "exec tail -f /dev/null", "kill -9 $$"],
)
def test_program_without_help_has_no_drift(body: str, tmp_path: Path) -> None:
    """A program whose help cannot be read has no drift."""
    path = tmp_path / "agent"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    assert read_help(str(path), seconds=0.5) is None
    assert find_drift(str(path), ClaudeExecutor.spec, lambda at, _: read_help(at, seconds=0.5)) == []


def test_missing_program_has_no_help() -> None:
    """The probe reports a missing program."""
    assert read_help("/nowhere/agent") is None


@pytest.mark.parametrize("agent", PROGRAMS, ids=lambda agent: agent.name)
def test_tested_version_can_be_installed(agent: AgentProgram) -> None:
    """After drift, doctor shows the command that installs the tested version."""
    if agent.tested_version:
        assert agent.install_tested_version == f"{agent.install}@{agent.tested_version}"
    else:
        assert agent.install_tested_version == ""


def agent_script(path: Path, body: str, flags: frozenset[str] = frozenset()) -> str:
    lines = "".join(f"  {flag} <x>  description\n" for flag in sorted(flags))
    path.write_text(f"#!/bin/sh\n{body}\ncat <<'E'\nUsage: agent\n{lines}E\n")
    path.chmod(0o755)
    return str(path)


VERSION = '[ "$1" = --version ] && { echo 9.8.7; exit; }'
LOGGED_OUT = '[ "$1" = auth ] && { echo "Not logged in"; exit 1; }'


def test_programs_are_located_by_their_variables(tmp_path: Path) -> None:
    """Every agent program is listed; only the one that is installed has a path."""
    path = agent_script(tmp_path / "g", VERSION)
    found = locate_programs({"OSTLER_GEMINI_PATH": path, "PATH": "", "HOME": str(tmp_path)})
    assert {located.program.name: located.path for located in found} == {
        agent.name: path if agent.name == "gemini" else None for agent in PROGRAMS
    }


def test_installed_agents_are_surveyed_in_the_preferred_order(tmp_path: Path) -> None:
    """An agent on PATH that is not usable comes after those that are."""
    agent_script(tmp_path / "claude", f"{VERSION}\n{LOGGED_OUT}")
    agent_script(tmp_path / "gemini", VERSION)
    agent_script(tmp_path / "qwen", "exit 3")
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    found = survey_installed(environ)
    assert [(agent.program.name, agent.health.state, agent.login, agent.is_usable) for agent in found] == [
        ("gemini", HealthState.HEALTHY, LoginStatus.UNKNOWN, True),
        ("claude", HealthState.HEALTHY, LoginStatus.NO, False),
        ("qwen", HealthState.UNHEALTHY, LoginStatus.UNKNOWN, False),
    ]
    assert found[0].health.version == "9.8.7"


def test_named_agent_is_preferred(tmp_path: Path) -> None:
    """An agent that OSTLER_<NAME>_PATH names comes first, even when it is not usable."""
    agent_script(tmp_path / "gemini", VERSION)
    path = agent_script(tmp_path / "mine", "exit 3")
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path / "home"), "OSTLER_QWEN_PATH": path}
    assert [agent.program.name for agent in survey_installed(environ)] == ["qwen", "gemini"]


def test_whole_survey_has_drift_and_missing_programs(tmp_path: Path) -> None:
    """An agent that does not list a flag is not usable; an agent that is not installed is listed."""
    spec = get_spec(ExecutorRegistry().get("gemini")("gemini", ExecutorSettings(), MockCommandRunner()))
    assert spec is not None
    flags = list_flags(spec)[()] - {"--skip-trust"}
    path = agent_script(tmp_path / "g", VERSION, flags)
    environ = {"OSTLER_GEMINI_PATH": path, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    found = {agent.program.name: agent for agent in survey_all(environ)}
    assert found["gemini"].missing_flags == (MissingFlags((), ("--skip-trust",)),)
    assert not found["gemini"].is_usable
    assert found["claude"].health.state is HealthState.NOT_FOUND


def test_same_program_is_probed_once() -> None:
    """Several executors may run one program."""
    probed: list[str] = []

    def probe(path: str) -> Health:
        probed.append(path)
        return Health(HealthState.HEALTHY, path)

    found = probe_programs(["a", "b", "a"], probe)
    assert (sorted(probed), {path: health.version for path, health in found.items()}) == (
        ["a", "b"],
        {"a": "a", "b": "b"},
    )


def test_executor_without_a_program_has_no_spec() -> None:
    """The scripted executor does not run an agent program."""
    executor = ExecutorRegistry().get("scripted")("scripted", ExecutorSettings(), MockCommandRunner())
    assert get_spec(executor) is None

"""The list of commands: groups, summaries, and what is suggested for an unknown command."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from ostler.__main__ import run
from ostler.cli.app import COMMANDS, GROUPS
from ostler.cli.synonyms import SYNONYMS
from ostler.project.actions import ACTIONS


def test_help_lists_the_commands_in_groups(capfd: pytest.CaptureFixture[str]) -> None:
    """Every summary is on the line of its command, in aligned columns."""
    assert run(["--help"]) == 0
    printed = capfd.readouterr().out
    assert [title for title in re.findall(r"^(\S.*):$", printed, re.MULTILINE) if title in GROUPS] == [
        *GROUPS
    ]
    columns = max(map(len, COMMANDS))
    for name, (_, summary) in COMMANDS.items():
        assert f"\n  {name:<{columns}}  {summary}\n" in printed


def test_missing_choices_are_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    """An argument with a list of choices is reported in one sentence."""
    assert run(["completion"]) == 2
    assert "Choose from: bash, zsh, fish\n" in capfd.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_module_and_a_short_summary(name: str) -> None:
    """An imperative without a full stop, under 60 characters."""
    module, summary = COMMANDS[name]
    assert find_spec(f"ostler.cli.commands.{module}")
    assert len(summary) < 60 and summary[0].isupper() and not summary.endswith(".")


def test_the_actions_have_the_summaries_of_their_table() -> None:
    """The help must not import the table, so it repeats them."""
    decided = {name: summary for name, (_, summary) in GROUPS["Decide"].items()}
    assert "review" not in ACTIONS and decided.pop("review")  # it sends several decisions
    assert decided == {name: action.summary for name, action in ACTIONS.items()}


@pytest.mark.parametrize("name", SYNONYMS)
def test_a_synonym_names_commands_that_exist(name: str) -> None:
    """No synonym hides a command."""
    assert name not in COMMANDS
    named = re.findall(r"ostler (\S+?)(?:[,;]|$| )", SYNONYMS[name])
    assert named and set(named) <= {*COMMANDS, "--version"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ls", 'unknown command "ls": use ostler status'),
        ("hide", 'unknown command "hide": use ostler archive'),
        ("stop", 'unknown command "stop": use ostler cancel, or ostler pause to continue later'),
        ("logs", 'unknown command "logs": use ostler log'),
        ("transcript", 'unknown command "transcript": use ostler log ID, or ostler show ID --attempt N'),
        ("task show", 'unknown command "task show": use ostler show ID'),
        ("task iput", 'unknown command "task": use ostler status, ostler new or ostler set'),
        ("task add", 'unknown command "task add": use ostler new TITLE'),
        ("task", 'unknown command "task": use ostler status, ostler new or ostler set'),
        ("dashboard", 'unknown command "dashboard": use ostler serve, or ostler watch in the terminal'),
        (
            "orphans",
            'unknown command "orphans": use ostler ps --orphans, and ostler kill --orphans to end them',
        ),
        ("abort", 'unknown command "abort": use ostler cancel'),
        ("vault", 'unknown command "vault"'),
        ("Status", 'unknown command "Status": did you mean ostler status?'),
        ("statsu", 'unknown command "statsu": did you mean ostler status?'),
        ("zzzzzz", 'unknown command "zzzzzz"'),
    ],
)
def test_an_unknown_command_is_one_error(name: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Exit 2, the command to use, and where the help is."""
    assert run(name.split()) == 2
    assert capfd.readouterr().err == f"ostler: {message}\n        ostler --help\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("gates list", 'gates has no command "list"; its commands: accept'),
        ("agent run", 'agent has no command "run"; its commands: list, resume, sessions, spawn'),
        ("worktree", "worktree needs a command: list, prune"),
        ("config", "config needs a command: accept, edit, init, path, reset, set, show, validate"),
    ],
)
def test_a_group_names_its_commands(words: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Without a command and with a wrong one, every command of the group is listed."""
    args = words.split()
    assert run(args) == 2
    assert capfd.readouterr().err == f"ostler: {message}\n        ostler {args[0]} --help\n"


@pytest.mark.parametrize("words", ["events --after x", "serve --port x", "new t --budget-usd x"])
def test_what_is_no_number_is_named(words: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Without the words of the library that parses it."""
    assert run(words.split()) == 2
    assert "'x' is not a number\n" in capfd.readouterr().err


def test_help_of_a_command_in_a_group(capfd: pytest.CaptureFixture[str]) -> None:
    """`ostler help config set` is `ostler config set --help`."""
    assert run(["help", "config", "set"]) == 0
    assert capfd.readouterr().out.startswith("Usage: ostler config set ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("edit x --input a", "no such option --input"),
        ("edit x --tilte a", "no such option --tilte; did you mean --title?"),
        ("show x --all", "no such option --all"),
    ],
)
def test_an_unknown_option_suggests_a_similar_name(
    words: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The dashes, which all options share, do not count."""
    assert run(words.split()) == 2
    assert capfd.readouterr().err.splitlines()[0] == f"ostler: {message}"

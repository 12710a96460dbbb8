"""The tool rules of a project that are passed to claude (C23, S5)."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.executors.claude.tool_rules import ToolRules, find_rule_problems, read_tool_rules
from ostler.model.call import AgentCall, AgentEvent, WarningRaised
from ostler.testing.fake_agent import fake_claude
from ostler.testing.mocks import MockCommandRunner

ALLOW = {"permissions": {"allow": ["Bash(make *)"]}}
DENY = {"permissions": {"deny": ["WebFetch"]}}


class Place:
    """A project with a worktree, and calls in either."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.worktree = root / ".ostler" / "worktrees" / "task-1"
        self.worktree.mkdir(parents=True)

    def write(self, where: Path, content: object, name: str = "settings.json") -> None:
        (where / ".claude").mkdir(exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        (where / ".claude" / name).write_text(text)

    def call(self, cwd: Path | None = None) -> AgentCall:
        return AgentCall("i", "p", "s", cwd=str(cwd or self.worktree), env={"OSTLER_PROJECT": str(self.root)})

    def rules(self, cwd: Path | None = None) -> ToolRules:
        return read_tool_rules(self.call(cwd))


@pytest.fixture
def directory(tmp_path: Path) -> Place:
    """Return a project without settings of claude."""
    return Place(tmp_path / "project")


def test_project_without_files_has_no_rules(directory: Place) -> None:
    """Without files there are no flags and no warnings."""
    assert directory.rules() == ToolRules()


def test_both_files_count(directory: Place) -> None:
    """The lists of the shared and of the local file are combined without duplicates."""
    directory.write(
        directory.root, {"permissions": {"allow": ["Edit", "Bash(make *)"], "deny": ["WebFetch"]}}
    )
    directory.write(directory.root, {"permissions": {"allow": ["Edit", "mcp__db__*"]}}, "settings.local.json")
    assert directory.rules() == ToolRules(("Edit", "Bash(make *)", "mcp__db__*"), ("WebFetch",))


def test_flags_hold_one_rule_each() -> None:
    """A rule with spaces and commas is one argument."""
    rules = ToolRules(("Bash(git log, x *)", "Edit"), ("WebFetch",), ("user", "project"))
    assert rules.build_flags(()) == (
        "--allowedTools=Bash(git log, x *)",
        "--allowedTools=Edit",
        "--disallowedTools=WebFetch",
        "--setting-sources=user,project",
    )


@pytest.mark.parametrize(
    ("args", "left"),
    [
        (("--allowedTools", "Bash"), {"--disallowedTools", "--setting-sources"}),
        (("--allowed-tools=Bash",), {"--disallowedTools", "--setting-sources"}),
        (("--disallowed-tools", "Edit"), {"--allowedTools", "--setting-sources"}),
        (("--setting-sources", "user"), {"--allowedTools", "--disallowedTools"}),
        (("--model", "--allowedToolsX"), {"--allowedTools", "--disallowedTools", "--setting-sources"}),
    ],
)
def test_own_arguments_win(args: tuple[str, ...], left: set[str]) -> None:
    """A flag in the args of the executor is not passed again; the others are."""
    flags = ToolRules(("Bash",), ("Edit",), ("user",)).build_flags(args)
    assert {flag.partition("=")[0] for flag in flags} == left


def test_worktree_cannot_allow_itself_anything(directory: Place) -> None:
    """A file that an agent wrote in its worktree is not used, and claude does not read it."""
    directory.write(directory.worktree, ALLOW)
    directory.write(directory.worktree, ALLOW, "settings.local.json")
    assert directory.rules() == ToolRules(sources=("user",))


def test_changed_copy_is_not_used(directory: Place) -> None:
    """A changed file in the worktree is not used; the other file is."""
    directory.write(directory.root, DENY)
    directory.write(directory.worktree, ALLOW)
    assert directory.rules() == ToolRules(deny=("WebFetch",), sources=("user", "local"))


def test_same_copy_is_fine(directory: Place) -> None:
    """An unchanged file in the worktree is read by claude as usual."""
    for where in (directory.root, directory.worktree):
        directory.write(where, ALLOW)
    assert directory.rules() == ToolRules(("Bash(make *)",))


@pytest.mark.parametrize("below", [".", "src"])
def test_agent_in_the_checkout_is_only_narrowed(directory: Place, below: str) -> None:
    """In the checkout, where agents could write the rules, only deny is used."""
    directory.write(directory.root, {"permissions": {"allow": ["Bash"], "deny": ["WebFetch"]}})
    (directory.root / below).mkdir(exist_ok=True)
    assert directory.rules(directory.root / below) == ToolRules(deny=("WebFetch",))


def test_library_without_a_project_reads_the_workspace(directory: Place) -> None:
    """Without a project the rules of the working directory are used."""
    directory.write(directory.worktree, ALLOW)
    assert read_tool_rules(AgentCall("i", "p", "s", cwd=str(directory.worktree))) == ToolRules(
        ("Bash(make *)",)
    )


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "[]",
        "\udcff".encode("utf-8", "surrogateescape").decode("latin-1"),
        '{"permissions": ["Bash"]}',
        '{"permissions": {"allow": "Bash"}}',
        '{"permissions": {"allow": [1]}}',
        "[" * 100_000,
        '{"permissions": {"allow": ["' + "x" * (1 << 20) + '"]}}',
    ],
)
def test_broken_file_is_reported_and_not_used(directory: Place, broken: str) -> None:
    """An invalid file is reported with its path; the other file is used."""
    directory.write(directory.root, broken)
    directory.write(directory.root, DENY, "settings.local.json")
    rules = directory.rules()
    assert (rules.allow, rules.deny) == ((), ("WebFetch",))
    assert len(rules.problems) == 1
    assert (rules.problems[0].file, rules.problems[0].severity) == (".claude/settings.json", "error")


@pytest.mark.parametrize("rule", ["", "--dangerously-skip-permissions", "Bash(a\nb)", "Bash(x", " Edit"])
def test_what_is_no_rule_is_reported_and_left_out(directory: Place, rule: str) -> None:
    """An invalid rule is reported; the other rules are used."""
    directory.write(directory.root, {"permissions": {"allow": [rule, "Edit"]}})
    rules = directory.rules()
    assert rules.allow == ("Edit",)
    assert "is not a valid rule" in rules.problems[0].text and rules.problems[0].severity == "warning"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("directory", "it is a directory"),
        ("fifo", "it is not a regular file"),
        ("unreadable", "Input/output error"),
        ("broken link", "settings.local.json is a broken link"),
        ("broken directory", ".claude is a broken link"),
    ],
)
def test_what_cannot_be_read_may_have_lost_deny_rules(directory: Place, kind: str, reason: str) -> None:
    """The call is refused, and does not hang, when something else is in the place of the file."""
    path = directory.root / ".claude" / "settings.local.json"
    if kind == "broken directory":
        path.parent.symlink_to("nothing")
    else:
        path.parent.mkdir()
    match kind:
        case "directory":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "unreadable":
            path.symlink_to("/proc/self/mem")
        case "broken link":
            path.symlink_to("nothing")
        case _:
            pass
    problem = directory.rules().problems[-1]
    assert problem.text == f".claude/settings.local.json: cannot be read: {reason}"
    assert problem.severity == "error"


def test_what_cannot_be_read_in_the_worktree_is_not_used(directory: Place) -> None:
    """claude does not read it either; a `.claude` that is a link to a directory is as good as one."""
    (directory.worktree / ".claude" / "settings.json").mkdir(parents=True)
    (directory.root / "shared").mkdir()
    (directory.root / ".claude").symlink_to("shared")
    assert directory.rules() == ToolRules(sources=("user", "local"))


def test_only_the_two_lists_are_ours(directory: Place) -> None:
    """Hooks, variables, modes and ask rules are not used."""
    more = {"hooks": {"x": 1}, "env": {"ANTHROPIC_BASE_URL": "http://evil"}, "model": "m"}
    directory.write(
        directory.root, {**more, "permissions": {"defaultMode": "bypassPermissions", "ask": ["Bash"]}}
    )
    assert directory.rules() == ToolRules()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n "permissions": {\n  "deny": ["Bash"],,\n }\n}', "3: not valid JSON: "),
        ('{\n "permissions": {\n  "deny": "Bash"\n }\n}', "3: permissions.deny: expected"),
        (
            '{\n "permissions": {\n  "deny": [\n"Bash(x"]\n }\n}',
            "4: permissions: 'Bash(x' is not a valid rule",
        ),
    ],
)
def test_lost_deny_rules_have_their_line_and_start_nothing(
    directory: Place, tmp_path: Path, text: str, line: str
) -> None:
    """A call without the project's deny rules is refused (finding A5)."""
    directory.write(directory.root, text)
    [problem] = find_rule_problems(directory.root)
    assert problem.text.startswith(f".claude/settings.json:{line}") and problem.severity == "error"
    runner = MockCommandRunner()
    executor = ClaudeExecutor("claude", ExecutorSettings(command=str(fake_claude(tmp_path / "bin"))), runner)
    result = asyncio.run(executor.spawn(directory.call(), lambda _: None))
    assert (result.code, runner.commands) == (Code.CONFIG_INVALID, [])


def test_executor_passes_the_rules_and_reports_the_problems(directory: Place, tmp_path: Path) -> None:
    """The rules precede all other arguments, and an invalid allow rule is reported, also on resume."""
    directory.write(directory.root, ALLOW)
    directory.write(directory.root, {"permissions": {"allow": [" Edit"]}}, "settings.local.json")
    runner = MockCommandRunner()
    settings = ExecutorSettings(command=str(fake_claude(tmp_path / "bin")), args=("--own",))
    executor = ClaudeExecutor("claude", settings, runner)
    for start in (executor.spawn, executor.resume):
        events: list[AgentEvent] = []
        asyncio.run(start(directory.call(), events.append))
        assert runner.last.argv[1:3] == ("--allowedTools=Bash(make *)", "--print")
        assert runner.last.argv[-1] == "--own"
        assert [event for event in events if isinstance(event, WarningRaised)]


@pytest.mark.parametrize("args", [(), ("--setting-sources", "user")])
def test_a_worktree_with_other_settings_is_reported(
    directory: Place, tmp_path: Path, args: tuple[str, ...]
) -> None:
    """The warning names CLAUDE.md; there is none when the args of the executor decide."""
    directory.write(directory.root, DENY)
    directory.write(directory.worktree, ALLOW)
    settings = ExecutorSettings(command=str(fake_claude(tmp_path / "bin")), args=args)
    events: list[AgentEvent] = []
    executor = ClaudeExecutor("claude", settings, MockCommandRunner())
    asyncio.run(executor.spawn(directory.call(), events.append))
    reported = [event.message for event in events if isinstance(event, WarningRaised)]
    assert len(reported) == (not args)
    assert all("settings.json" in message and "CLAUDE.md" in message for message in reported)

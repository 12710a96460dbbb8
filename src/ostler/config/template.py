"""The ostler.toml that `ostler init` writes."""

from __future__ import annotations

from typing import Any

from ostler.config.literal import to_toml
from ostler.config.settings import ExecutorSettings, Settings
from ostler.config.source import format_key

_HEAD = "# Settings of {owner}; commented lines show defaults. All settings: ostler config show\n"

_TAIL = """
# Further sections:
#   [phases] [gates] [workspace]         phases of a task, checks of results, worktree setup
#   [pull_request] [skills] [documents]  git.on_complete = "pr"; tasks that write a document
#   [[models]] [selection] [tiers]       several models and their order
#   [preflight] [retry] [limits]         checks before a run, retries, windows of subscriptions
#   [pools.NAME] [host] [server]         concurrency, resources, address of ostler serve
#   [budget] [prices."MODEL"] [secrets]  budgets, prices, values to redact
#   [agents] [plugins] [sandbox]         executor per role, plugins, reach of agents
#   [engine] [store] [blobs]             workers on several machines
#   [[notify]] [telemetry]               messages, traces"""


def starter_config(executor: str, test_command: str = "", link: str = "", owner: str = "this project") -> str:
    """Return a short settings file with the settings that are changed most.

    Only the executor is set, a test command as the gate of `implement`, and a directory that it needs.
    """
    settings, agent = Settings(), ExecutorSettings()
    run, git = settings.run, settings.git
    lines = [
        _HEAD.format(owner=owner),
        "[run]",
        _line("executor", executor, "agent that works on tasks"),
        _default("model", run.model, "empty: the agent's default"),
        _default("jobs", run.jobs, "tasks that run at the same time"),
        _default("timeout_seconds", run.timeout_seconds, "maximum duration of one attempt"),
        _default("idle_timeout_seconds", run.idle_timeout_seconds, "maximum time without activity"),
        "",
        f"[{format_key(('executors', executor))}]",
        *_command_lines(executor),
        _default("args", agent.args, "extra arguments for each call"),
        _default("permissions", agent.permissions, 'or "ask", "accept-edits", "skip"'),
        "",
        "[git]",
        _default("target", git.target, "base branch; empty: the one checked out"),
        *_gate_lines(test_command),
        *(("", "[workspace]", _line("link", [link], "from your checkout, read-only")) if link else ()),
        _TAIL,
    ]
    return "\n".join(lines) + "\n"


def _command_lines(executor: str) -> list[str]:
    if executor != "command":
        return []
    return [_line("command", "my-agent", "the program to run")]


def _gate_lines(test_command: str) -> list[str]:
    if not test_command:
        return []
    return [
        "",
        "[gates.commands]",
        "# Must succeed on each commit of the phase; claude may run it. Remove the line for no check.",
        f"implement = {to_toml(test_command)}",
    ]


def _default(key: str, value: Any, meaning: str) -> str:
    return _line(f"# {key}", value, meaning)


def _line(key: str, value: Any, meaning: str) -> str:
    return f"{f'{key} = {to_toml(value)}':<34} # {meaning}"

"""The ostler.toml that `ostler init` writes."""

from __future__ import annotations

from typing import Any

from ostler.config.literal import literal
from ostler.config.settings import ExecutorSettings, Settings
from ostler.config.source import dotted

_HEAD = """\
# Settings of this project. What stands behind a # is the default.
# `ostler config show` prints every setting and where its value came from.
"""

_TAIL = """
# Further sections; [[notify]] and [telemetry] tell others what happens:
#   [phases] [gates] [workspace]         what a task goes through, what must be true, what it needs
#   [pull_request] [skills] [documents]  with git.on_complete = "pr"; tasks that end in a document
#   [[models]] [selection] [tiers]       several models, and which of them is asked first
#   [retry] [pools.NAME] [host]          how often, how many at once, what must be free
#   [budget] [prices."MODEL"] [server]   money; where ostler serve listens
#   [agents] [plugins] [sandbox]         who plays a role, what is added, what an agent may reach"""


def starter(executor: str) -> str:
    """A short settings file with what people change first; only the executor is set."""
    settings, agent = Settings(), ExecutorSettings()
    run, git = settings.run, settings.git
    lines = [
        _HEAD,
        "[run]",
        _line("executor", executor, "the agent that works on tasks"),
        _default("model", run.model, "empty: the agent's own choice"),
        _default("jobs", run.jobs, "tasks at the same time"),
        _default("timeout_seconds", run.timeout_seconds, "the longest that one attempt may take"),
        _default("idle_timeout_seconds", run.idle_timeout_seconds, "the longest that an agent may be silent"),
        "",
        f"[{dotted(('executors', executor))}]",
        *_command_lines(executor),
        _default("args", agent.args, "further arguments for each call"),
        _default("permissions", agent.permissions, 'or "ask", "skip"'),
        "",
        "[git]",
        _default("target", git.target, "the branch to start from; empty: the one checked out"),
        _TAIL,
    ]
    return "\n".join(lines) + "\n"


def _command_lines(executor: str) -> list[str]:
    if executor != "command":
        return []
    return [_line("command", "my-agent", "the program to run")]


def _default(key: str, value: Any, meaning: str) -> str:
    return _line(f"# {key}", value, meaning)


def _line(key: str, value: Any, meaning: str) -> str:
    return f"{f'{key} = {literal(value)}':<34} # {meaning}"

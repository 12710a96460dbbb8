"""The list of commands; each one's module is imported when it is called."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

import click

from ostler import __version__
from ostler.config.nearest import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# name: (module below ostler.cli, what it does in a few words), in the order of a first hour
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "make this directory an Ostler project"),
    "demo": ("demo", "watch three tasks run on a sample repository"),
    "new": ("new", "write a task down"),
    "import": ("import_tasks", "write tasks down from files, a checklist or issues"),
    "run": ("run", "let agents work on tasks"),
    "worker": ("worker", "keep running what is due, and what has a schedule"),
    "serve": ("serve", "the same with a dashboard in your browser"),
    "status": ("status", "all tasks at a glance"),
    "watch": ("watch", "the same, live, with keys to look closer and to decide"),
    "show": ("show", "one task in full"),
    "log": ("log", "what the agent said and did"),
    "events": ("events", "everything that happened, as it was recorded"),
    "diff": ("diff", "what a task changed"),
    "export": ("export", "the whole record of a task: NDJSON, a trajectory, a page that replays"),
    "cost": ("cost", "what was spent, by task, day, model, executor or phase"),
    "pause": ("pause", "let a task rest where it stands"),
    "resume": ("resume", "let a resting task go on, with a word for its agent"),
    "cancel": ("cancel", "end a task; what it did is kept"),
    "retry": ("retry", "make a failed, cancelled or waiting task pending again"),
    "skip": ("skip", "leave a phase of a task out"),
    "rewind": ("rewind", "go back to an earlier phase of a task"),
    "approve": ("approve", "say yes where a task waits for you"),
    "reject": ("reject", "say no there; the work goes back with your reason"),
    "report": ("report", "an agent's own word about its task"),
    "mcp": ("mcp", "an MCP server: tasks as tools of Claude Code and others"),
    "pipeline": ("pipeline", "documents made from one another: run, status, resume"),
    "agent": ("agent", "roles; an agent directly, without a task"),
    "skills": ("skills", "the skills that tasks can ask for: list, show, check"),
    "executors": ("executors", "the agents that tasks can be given to"),
    "models": ("models", "the models that calls may use, and how each one stands"),
    "worktree": ("worktree", "the worktrees of tasks: list, prune"),
    "cleanup": ("cleanup", "take away what ended tasks left"),
    "doctor": ("doctor", "check this machine and project"),
    "config": ("config", "settings, and where each value comes from"),
    "completion": ("completion", "the script for bash, zsh or fish that completes commands and ids"),
}

COMPLETING = "_OSTLER_COMPLETE"  # a shell asks what may follow

EPILOG = "\n".join(
    (
        "\b",
        "Start here:",
        "  ostler demo                          see it work, no account needed",
        '  ostler new "Fix the login redirect"  write a task down',
        "  ostler run --all                     let agents work on it",
    )
)


class Commands(click.Group):
    """A group that knows its commands' names and helps without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"ostler.cli.{COMMANDS[cmd_name][0]}").command
        if COMPLETING in os.environ:
            from ostler.cli.completion import teach  # noqa: PLC0415  (a shell asks, not a person)

            return teach(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = nearest(name, COMMANDS)
            hint = f"; did you mean ostler {near}?" if near else ""
            raise click.UsageError(f"no command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # noqa: PLC0415

        found = [(name, about) for name, (_, about) in COMMANDS.items() if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=about) for name, about in found), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.command(
    cls=Commands,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="ostler %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Runs AI agents on tasks, unattended, and never loses one."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())

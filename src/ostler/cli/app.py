"""The `ostler` command: lists the commands in groups and imports a command's module when it is used."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

import click

from ostler import __version__
from ostler.cli.inside_task import refuse_inside_task

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# group: command: (module in the package of that group below ostler.cli.commands, summary)
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Work": {
        "new": ("new", "Create a task"),
        "edit": ("edit", "Edit an open task, in your editor or with options"),
        "set": ("set_fields", "Set fields of an open task, for scripts"),
        "shell": ("shell", "Open a shell in a task's worktree"),
        "attach": ("attach", "Continue a task's session in the agent's own program"),
        "run": ("run", "Run tasks until each one ends or needs you"),
        "import": ("import_tasks", "Create tasks from files, checklists or issues"),
        "worker": ("worker", "Keep running ready and scheduled tasks"),
        "serve": ("serve", "Run tasks and serve the dashboard"),
        "pipeline": ("pipeline", "Run pipelines of documents: run, status, resume"),
        "agent": ("agent", "Call an agent without a task: list, spawn, resume, sessions"),
        "report": ("report", "Report the status of a task, from inside its agent"),
    },
    "Look": {
        "status": ("status", "List all tasks"),
        "show": ("show", "Show one task in full"),
        "ps": ("ps", "List the agents that run now and their processes"),
        "log": ("log", "Show the output of a task's agent, or of a session"),
        "events": ("events", "List recorded events"),
        "diff": ("diff", "Show what a task changed"),
        "cost": ("cost", "Show tokens and cost by task, day, model or phase"),
        "limits": ("limits", "Show how much of each account's limits is used"),
        "machine": ("machine", "Show memory, worker slots and running attempts"),
        "watch": ("watch", "Watch all tasks live and act on them with keys"),
        "export": ("export", "Export a task as NDJSON, ATIF or one HTML page"),
    },
    "Decide": {
        "review": ("review", "Review work in your editor: decide, comment on lines"),
        "approve": ("actions", "Approve a task that waits for you"),
        "reject": ("actions", "Reject the work and send it back with a reason"),
        "resume": ("actions", "Resume a paused, blocked or deferred task"),
        "message": ("actions", "Send a message to a running agent"),
        "retry": ("actions", "Make a failed or cancelled task pending again"),
        "pause": ("actions", "Pause tasks: stop their agents, keep their work"),
        "cancel": ("actions", "Cancel tasks: end them, keep their work"),
        "kill": ("kill", "Kill a running attempt; its task continues"),
        "skip": ("actions", "Skip a phase of a task"),
        "rewind": ("actions", "Return a task to an earlier phase"),
        "merge": ("accept", "Merge completed tasks into their target"),
        "publish": ("accept", "Open pull requests for completed tasks"),
        "rebase": ("accept", "Rebase completed tasks onto their target"),
        "undo": ("actions", "Take back an approval, or a request to publish"),
        "archive": ("actions", "Hide ended tasks from the lists"),
        "rm": ("remove", "Delete tasks that never ran"),
        "purge": ("purge", "Delete the files, refs and logs of ended tasks"),
    },
    "Set up": {
        "init": ("init", "Create a project in this directory"),
        "demo": ("demo", "Run three sample tasks; needs no account"),
        "doctor": ("doctor", "Check this machine and this project"),
        "cluster": ("cluster", "Check the servers of several machines: doctor"),
        "projects": ("projects", "List your projects: list, add, forget"),
        "config": ("config", "Show, set, edit and validate settings"),
        "gates": ("gates", "List command gates and accept one that cannot fail"),
        "executors": ("executors", "List the agents on this machine"),
        "models": ("models", "List models and their availability"),
        "skills": ("skills", "List, show and check skills"),
        "journal": ("journal", "Back up, check and rebuild the journal"),
        "store": ("store", "Copy the journal to PostgreSQL"),
        "worktree": ("worktree", "List and prune the worktrees of tasks"),
        "cleanup": ("cleanup", "Delete worktrees and logs that are not needed"),
        "mcp": ("mcp", "Start an MCP server for Claude Code and others"),
        "testing": ("testing", "Start a fake model, GitHub or agent to test with"),
        "completion": ("completion", "Print the completion script for your shell"),
    },
}
COMMANDS = {
    name: (f"{title.replace(' ', '').lower()}.{module}", summary)
    for title, group in GROUPS.items()
    for name, (module, summary) in group.items()
}

# The variable that a shell sets when it asks for completions.
COMPLETION_VARIABLE = "_OSTLER_COMPLETE"

EPILOG = "\n".join(
    (
        "\b",
        "Get started:",
        "  ostler demo                          run three sample tasks, no account needed",
        '  ostler new "Fix the login redirect"  create a task',
        "  ostler run --all                     run all tasks that are ready",
        "",
        "\b",
        "Details of a command: ostler COMMAND --help",
    )
)


class CommandGroup(click.Group):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"ostler.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = (
            module.command if hasattr(module, "command") else module.make_command(cmd_name)
        )
        if COMPLETION_VARIABLE in os.environ:
            # Only a shell needs it.
            from ostler.cli.commands.setup.completion import add_task_completion  # noqa: PLC0415

            return add_task_completion(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == "help":
            args = [*args[1:], "--help"]
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from ostler.cli.synonyms import describe_unknown  # noqa: PLC0415

            raise click.UsageError(describe_unknown(args, COMMANDS), ctx)
        if COMPLETION_VARIABLE not in os.environ:
            refuse_inside_task(args)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # noqa: PLC0415

        found = [(name, summary) for name, (_, summary) in COMMANDS.items() if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=summary) for name, summary in found), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Padded names align the summaries of all groups.
        columns = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(columns), summary) for name, (_, summary) in commands.items()]
                )


@click.command(
    cls=CommandGroup,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="ostler %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Run AI coding agents on tasks, unattended, and lose none of their work."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())

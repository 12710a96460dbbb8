"""ostler completion"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.text import to_one_line
from ostler.errors import OstlerError

_SHELLS = ("bash", "zsh", "fish")
_MAX_ITEMS = 200


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@json_option
def command(shell: str, as_json: bool) -> None:
    """Print the script that completes commands, options and task ids in your shell.

    \b
      bash   echo 'eval "$(ostler completion bash)"' >> ~/.bashrc
      zsh    echo 'eval "$(ostler completion zsh)"' >> ~/.zshrc
      fish   ostler completion fish > ~/.config/fish/completions/ostler.fish
    """
    from ostler.cli.app import COMPLETION_VARIABLE, app  # noqa: PLC0415  (which imports this module when it is called)

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(app, {}, "ostler", COMPLETION_VARIABLE).source()
    if as_json:
        print_json({"schema": "ostler.completion/1", "shell": shell, "script": script})
    else:
        print_text(script)


def add_task_completion(command: click.Command) -> click.Command:
    """Make every parameter of a command that takes a task id complete it."""
    for param in command.params:
        if (param.metavar or "").strip("[].") in ("ID", "ATTEMPT"):
            param._custom_shell_complete = complete_task  # pyright: ignore[reportPrivateUsage]
    return command


def complete_task(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the tasks whose id starts with the text, with their titles; none without a project."""
    try:
        with open_project() as project:
            found = project.journal.named_rows(project.journal.find(incomplete)[:_MAX_ITEMS])
    except OstlerError:
        return []
    return [CompletionItem(row.id, help=to_one_line(f"{row.status}: {row.title}")) for row in found]

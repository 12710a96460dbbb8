"""ostler completion"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

from ostler.cli.out import emit, json_option, open_project, say
from ostler.cli.text import one_line
from ostler.errors import OstlerError

_SHELLS = ("bash", "zsh", "fish")
_MOST = 200


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@json_option
def command(shell: str, as_json: bool) -> None:
    """Print the script that lets a shell complete commands, options and task ids.

    \b
      bash   echo 'eval "$(ostler completion bash)"' >> ~/.bashrc
      zsh    echo 'eval "$(ostler completion zsh)"' >> ~/.zshrc
      fish   ostler completion fish > ~/.config/fish/completions/ostler.fish
    """
    from ostler.cli.app import COMPLETING, app  # noqa: PLC0415  (which imports this module when it is called)

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(app, {}, "ostler", COMPLETING).source()
    if as_json:
        emit({"schema": "ostler.completion/1", "shell": shell, "script": script})
    else:
        say(script)


def teach(taught: click.Command) -> click.Command:
    """Let everything of a command that takes a task's id complete it."""
    for param in taught.params:
        if (param.metavar or "").strip("[].") == "ID":
            param._custom_shell_complete = complete_task  # pyright: ignore[reportPrivateUsage]
    return taught


def complete_task(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The tasks whose id starts so, each with its title; none where there is no project."""
    try:
        with open_project() as project:
            found = project.journal.named_rows(project.journal.find(incomplete)[:_MOST])
    except OstlerError:
        return []
    return [CompletionItem(row.id, help=one_line(f"{row.status}: {row.title}")) for row in found]

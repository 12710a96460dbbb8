"""Agents that need no adapter of their own: a table of how each is called, run by the `command` executor.

`--executor droid` is enough; what a person writes in [executors.droid] wins. The prompt is never an argument:
all five read it from stdin or, droid, from a file. They speak plain text, so that what they changed counts and
not what they said. From their documentation; none was tried here.
"""

from __future__ import annotations

from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors.command import CommandExecutor
from ostler.process.protocol import CommandRunner


class Preset(Struct, frozen=True):
    args: tuple[str, ...]
    approves_all: bool = False  # its headless mode asks nobody about anything


PRESETS: dict[str, Preset] = {
    "amp": Preset(("--execute",)),
    "crush": Preset(("run", "--quiet", "--model={model}"), approves_all=True),
    "droid": Preset(("exec", "--auto", "low", "--model={model}", "--file", "{prompt_file}")),
    "kilocode": Preset(("run", "--auto", "--model={model}"), approves_all=True),
    "kimi": Preset(("--print", "--model={model}"), approves_all=True),
}


def make_preset(kind: str, name: str, settings: ExecutorSettings, runner: CommandRunner) -> CommandExecutor:
    """A command executor for this kind; one that approves everything must be allowed to."""
    preset = PRESETS[kind]
    if preset.approves_all and settings.permissions != "skip":
        raise OstlerError(
            Code.SANDBOX_UNAVAILABLE,
            f"{kind} without a terminal does everything unasked",
            f'set executors.{name}.permissions = "skip" if that is what you want',
        )
    filled = replace(settings, command=settings.command or kind, args=settings.args or preset.args)
    return CommandExecutor(name, filled, runner)


amp = partial(make_preset, "amp")
crush = partial(make_preset, "crush")
droid = partial(make_preset, "droid")
kilocode = partial(make_preset, "kilocode")
kimi = partial(make_preset, "kimi")

"""Agents that need no adapter of their own: a table of how each is called, run by the `command` executor.

`--executor droid` is enough; what a person writes in [executors.droid] wins. The prompt is never an argument:
all five read it from stdin or, droid, from a file. They speak plain text, so that what they changed counts,
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


class PresetExecutor(CommandExecutor):
    """A command executor with the table's arguments; one that approves everything must be allowed to."""

    def __init__(self, kind: str, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        self._approves_all = PRESETS[kind].approves_all
        args = settings.args or PRESETS[kind].args
        super().__init__(name, replace(settings, command=settings.command or kind, args=args), runner)

    def _program(self) -> str:
        if self._approves_all and self._settings.permissions != "skip":
            raise OstlerError(
                Code.SANDBOX_UNAVAILABLE,
                f"{self.name} without a terminal does everything unasked",
                f'set executors.{self.name}.permissions = "skip" if that is what you want',
            )
        return super()._program()


amp = partial(PresetExecutor, "amp")
crush = partial(PresetExecutor, "crush")
droid = partial(PresetExecutor, "droid")
kilocode = partial(PresetExecutor, "kilocode")
kimi = partial(PresetExecutor, "kimi")

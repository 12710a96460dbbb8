"""Deliver notifications to a command, as JSON on its stdin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ostler.config.settings import NotifySettings
from ostler.errors import OstlerError
from ostler.model.command import Command, StopReason
from ostler.notify.message import Message, NotDelivered, TargetMisconfigured
from ostler.process.environment import build_child_environment
from ostler.process.runner import DefaultCommandRunner

_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")  # for notify-send and similar programs
_MAX_ERROR_CHARS = 200  # characters


class CommandTarget:
    """Runs a command without a shell; it and its children are ended at the timeout."""

    def __init__(
        self, entry: NotifySettings, cwd: str, environ: Mapping[str, str], allow: Iterable[str]
    ) -> None:
        self._entry = entry
        self._cwd = cwd
        self._env = build_child_environment(environ, (*allow, *_DESKTOP), {"OSTLER_PROJECT": cwd})
        self._runner = DefaultCommandRunner()

    async def deliver(self, message: Message, body: bytes) -> None:
        """Return when the command exits with 0; raise NotDelivered otherwise."""
        seconds = self._entry.timeout_seconds
        argv = tuple(_fill_in(arg, message) for arg in self._entry.command)
        command = Command(
            argv,
            self._cwd,
            self._env,
            body,
            timeout_seconds=seconds,
            idle_timeout_seconds=seconds,
            grace_seconds=1.0,
        )
        try:
            ended = await self._runner.run(command, lambda _: False)
        except OstlerError as error:
            raise TargetMisconfigured(error.message.rstrip(".")) from error
        if ended.stopped in (StopReason.TIMEOUT, StopReason.IDLE):
            raise NotDelivered(f"it did not end within {seconds:g} s")
        if ended.status != 0:
            stderr = " ".join(ended.stderr_tail.split())[-_MAX_ERROR_CHARS:]
            raise NotDelivered(f"it exited with {ended.status}{': ' if stderr else ''}{stderr}")


def _fill_in(arg: str, message: Message) -> str:
    """Return the argument with names in braces replaced; a value never starts with a dash like an option."""
    values = {
        "id": message.task["id"],
        "title": message.task["title"],
        "status": message.task["status"],
        "on": message.on,
        "reason": message.reason,
        "next": message.next,
        "project": message.project,
    }
    parts = arg.split("{")
    return parts[0] + "".join(_part(part, values) for part in parts[1:])


def _part(part: str, values: Mapping[str, str]) -> str:
    name, brace, rest = part.partition("}")
    if not brace or name not in values:
        return "{" + part
    return " ".join(values[name].split()).lstrip("-") + rest

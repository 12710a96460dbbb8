"""Delivers to a program of the user's: the message as JSON on its input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ostler.config.settings import NotifySettings
from ostler.errors import OstlerError
from ostler.model.command import Command, Stopped
from ostler.notify.message import Message
from ostler.notify.target import NotDelivered, OutOfOrder
from ostler.process.environment import child_environment
from ostler.process.runner import DefaultCommandRunner

_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")  # notify-send and its like
_MOST_SAID = 200  # characters


class Program:
    """Started without a shell; it and all that it starts are ended at its timeout."""

    def __init__(
        self, entry: NotifySettings, cwd: str, environ: Mapping[str, str], allow: Iterable[str]
    ) -> None:
        self._entry = entry
        self._cwd = cwd
        self._env = child_environment(environ, (*allow, *_DESKTOP), {"OSTLER_PROJECT": cwd})
        self._runner = DefaultCommandRunner()

    async def deliver(self, message: Message, body: bytes) -> None:
        """Return when it has exited with 0. Raises NotDelivered otherwise."""
        seconds = self._entry.timeout_seconds
        argv = tuple(_filled(arg, message) for arg in self._entry.command)
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
            raise OutOfOrder(error.message.rstrip(".")) from error
        if ended.stopped in (Stopped.TIMEOUT, Stopped.IDLE):
            raise NotDelivered(f"it did not end within {seconds:g} s")
        if ended.status != 0:
            said = " ".join(ended.stderr_tail.split())[-_MOST_SAID:]
            raise NotDelivered(f"it exited with {ended.status}{': ' if said else ''}{said}")


def _filled(arg: str, message: Message) -> str:
    """The argument with the names in braces replaced; a value never begins with a dash, as an option does."""
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

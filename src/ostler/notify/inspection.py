"""Check whether a notification target can work, without sending anything."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ostler.config.settings import NotifySettings
from ostler.notify.message import display_name, target_id
from ostler.store.outbox import OutboxMessage


class Inspection(Struct, frozen=True):
    target: str
    problem: str = ""  # empty: no problem found
    fix: str = ""


def inspect_target(
    entry: NotifySettings, environ: Mapping[str, str], messages: Iterable[OutboxMessage]
) -> Inspection:
    """Return the problem of a target: a missing program or key, or earlier failures."""
    name = display_name(entry)
    if entry.command and shutil.which(entry.command[0], path=environ.get("PATH")) is None:
        return Inspection(name, f"program not found: {entry.command[0]}", "install it, or correct command")
    if entry.secret_env and not environ.get(entry.secret_env):
        return Inspection(name, f"{entry.secret_env} is not set", f"export {entry.secret_env}=...")
    lost = [one for one in messages if one.target == target_id(entry) and one.due_at is None]
    if lost:
        return Inspection(
            name, f"{len(lost)} not delivered, the last because {lost[-1].message}", "fix the receiver"
        )
    return Inspection(name)

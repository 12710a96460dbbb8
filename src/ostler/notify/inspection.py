"""Whether a target can be reached at all, as far as this machine can tell without trying."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ostler.config.settings import NotifySettings
from ostler.notify.target import name_of, place_of
from ostler.store.outbox import Letter


class Inspection(Struct, frozen=True):
    place: str
    trouble: str = ""  # empty: nothing is known to be in the way
    fix: str = ""


def inspect(entry: NotifySettings, environ: Mapping[str, str], letters: Iterable[Letter]) -> Inspection:
    """What is in the way of this entry: its program, its key, or what it did with earlier letters."""
    place = place_of(entry)
    if entry.command and shutil.which(entry.command[0], path=environ.get("PATH")) is None:
        return Inspection(place, f"there is no program {entry.command[0]}", "install it, or correct command")
    if entry.secret_env and not environ.get(entry.secret_env):
        return Inspection(place, f"{entry.secret_env} is not set", f"export {entry.secret_env}=...")
    lost = [one for one in letters if one.target == name_of(entry) and one.due_at is None]
    if lost:
        return Inspection(
            place, f"{len(lost)} given up, the last because {lost[-1].message}", "mend it there"
        )
    return Inspection(place)

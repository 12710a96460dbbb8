"""Settings files in the HOME of the user, for the private HOME of a sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ostler.sandbox.network.indexes.found import Found, join_found
from ostler.sandbox.network.indexes.settings_file import (
    Format,
    Unreadable,
    clean_settings,
    names_proxy,
    read_settings,
    write_settings,
)
from ostler.secrets.find import find_secrets

FindIndexes = Callable[[Mapping[str, Any]], Found]


def read_user_file(path: Path, form: Format, find: FindIndexes, system: Path | None = None) -> Found:
    """Return what the file names, with the file itself without secrets.

    The values of a `system` file that the sandbox lacks are put in the same file.
    """
    watched = Found(watched=(path, system) if system else (path,))
    try:
        above = read_settings(system, form) if system else {}
        values = {**above, **read_settings(path, form)}
    except Unreadable as error:
        return join_found([watched, Found(notes=(str(error),))])
    return join_found([watched, copy_values(path, form, values, find(values))]) if values else watched


def read_other_file(path: Path, form: Format, find: FindIndexes) -> Found:
    """Return what a file names that is not copied: one of the project or of the system."""
    try:
        found = find(read_settings(path, form))
    except Unreadable as error:
        return Found(watched=(path,), notes=(str(error),))
    return Found(found.indexes, found.paths, found.certificates, watched=(path,), notes=found.notes)


def copy_values(place: Path, form: Format, values: Mapping[str, Any], found: Found) -> Found:
    """Return `found` with a file of these values, without secrets."""
    cleaned, left = clean_settings(values)
    notes = found.notes
    if left:
        notes += (f"{place}: left out of the sandbox, because they are secrets: {', '.join(left)}",)
    if names_proxy(values):
        notes += (f"{place}: its proxy is not used in the sandbox; set HTTPS_PROXY instead",)
    content = write_settings(cleaned, form)
    if find_secrets(content):
        notes += (f"{place}: left out of the sandbox, because it holds a secret",)
        return Found(found.indexes, found.paths, found.certificates, (), (place,), notes)
    files = ((place, content),) if cleaned else ()
    return Found(found.indexes, found.paths, found.certificates, files, (place,), notes)

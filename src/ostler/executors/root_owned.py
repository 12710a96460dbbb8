"""The places from which gemini reads settings for all users: only root may write the file and above it."""

from __future__ import annotations

import stat
from pathlib import Path

from ostler.text import describe_os_error


def find_insecurity(path: Path) -> str:
    """Return why gemini (0.61 and later) skips a settings file at this path; empty: it reads the file."""
    named = path.absolute()
    resolved = named.resolve()
    for place in dict.fromkeys((*named.parents, *resolved.parents, resolved)):
        try:
            found = place.stat()
        except FileNotFoundError:
            continue  # a file that is still to be written
        except OSError as error:
            return f"{place}: {describe_os_error(error)}"
        if found.st_uid != 0:
            return f"{place} does not belong to root"
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"{place} is writable by others than root"
    return ""

"""The store of a project that is not open, and the file of a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ostler.config.live import LiveSettings
from ostler.errors import UsageError
from ostler.files.layout import Layout
from ostler.store.open_store import open_store
from ostler.store.store import Store


def find_store(layout: Layout, environ: Mapping[str, str]) -> Store:
    """Return the store that the settings name; raises SettingsInvalid."""
    return open_store(layout, LiveSettings(layout.root, environ, {}).read_store())


def require_file(store: Store) -> Path:
    """Return the file of the store; raises UsageError if it is on a server, which has tools of its own."""
    if store.file is None:
        raise UsageError(
            f"this command is for a journal in a file; that of this project is in {store.name}",
            "use the tools of the database server, such as pg_dump",
        )
    return store.file

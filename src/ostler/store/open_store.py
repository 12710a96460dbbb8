"""Opens the store of a project, or one in a file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ostler.files.layout import Layout
from ostler.store.sqlite.project_file import ProjectFile

if TYPE_CHECKING:
    from ostler.config.cluster import StoreSettings
    from ostler.store.store import Store


def open_store(layout: Layout, settings: StoreSettings | None = None) -> Store:
    """Return the store of the project, by default in its file; nothing is opened before it is used.

    Raises UsageError for a server if the packages of the extra `cluster` are missing.
    """
    if settings is None or settings.url == "sqlite":
        return ProjectFile(layout)
    try:
        from ostler.store.postgres.store import open_postgres  # noqa: PLC0415  (loads psycopg)
    except ImportError as error:
        from ostler.model.policy.packages import PackageMissing  # noqa: PLC0415  (a project in a file needs none)

        raise PackageMissing("store.url", "psycopg", error) from error
    return open_postgres(settings, layout)


def create_store(file: Path) -> Store:
    """Return the store in this file, which is created if it does not exist."""
    from ostler.store.sqlite.store import SqliteStore  # noqa: PLC0415  (for a program without a project)

    store = SqliteStore(file)
    store.open_journal(create=True).close()
    return store

"""Stores of tests that are in a file."""

from __future__ import annotations

from pathlib import Path

from ostler.store.sqlite.store import SqliteStore


def create_sqlite_store(path: Path) -> SqliteStore:
    """Return a store in this file, which is created."""
    store = SqliteStore(path)
    store.open_journal(create=True).close()
    return store

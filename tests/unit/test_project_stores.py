"""The store of a project that is not open."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import UsageError
from ostler.files.layout import Layout
from ostler.project.stores import find_store, require_file
from ostler.store.sqlite.store import SqliteStore


def test_by_default_it_is_the_file_of_the_project(tmp_path: Path) -> None:
    """Nothing is opened or created by looking."""
    store = find_store(Layout(tmp_path), {})
    assert require_file(store) == Layout(tmp_path).database
    assert store.name == str(Layout(tmp_path).database)
    assert not store.exists()


def test_commands_for_files_refuse_a_server() -> None:
    """The message names the server, and what to use instead."""

    class Elsewhere(SqliteStore):
        name = "postgresql://db/ostler"

        def __init__(self) -> None:
            self.file = None

    with pytest.raises(UsageError, match="postgresql://db/ostler") as caught:
        require_file(Elsewhere())
    assert "pg_dump" in caught.value.hint

"""Files of a directory that an agent wrote: only regular ones are read, never through a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostler.git.private.untrusted import TooLarge, read_untrusted, walk_untrusted


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with files, links to a secret beside it, and a pipe."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    place = tmp_path / "place"
    (place / "folder").mkdir(parents=True)
    (place / "folder" / "file").write_text("own")
    (place / "link").symlink_to(tmp_path / "outside" / "secret")
    (place / "linked").symlink_to(tmp_path / "outside")
    os.mkfifo(place / "pipe")
    return place


def test_only_regular_files_are_read(root: Path) -> None:
    """A link at the end or in the middle of a path, a pipe, a directory and a large file are left out."""
    assert read_untrusted(root, "folder/file", 3) == b"own"
    for name in ("link", "linked/secret", "../outside/secret", "pipe", "folder", "missing"):
        assert read_untrusted(root, name, 100) is None
    assert read_untrusted(root, "folder/file", 2) is None


def test_links_are_not_listed(root: Path) -> None:
    """Links and pipes are left out, and the number of entries is limited."""
    assert list(walk_untrusted(root, ".", max_depth=3, max_entries=10)) == ["./folder/file"]
    assert list(walk_untrusted(root, "linked", max_depth=3, max_entries=10)) == []
    with pytest.raises(TooLarge):
        list(walk_untrusted(root, ".", max_depth=3, max_entries=1))

"""One settings file: what is no file, no text or no TOML is one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostler.config.settings import Settings
from ostler.config.toml_file import read_file


def told(path: Path) -> list[str]:
    return [mistake.line for mistake in read_file(Settings, path, "ostler.toml", "project file").errors]


BAD_BYTES = [
    (
        b"a",
        "ostler.toml:1: not valid TOML: Expected '=' after a key in a key/value pair "
        "(at the end of the file)",
    ),
    (
        b"\n\n[run\n",
        "ostler.toml:3: not valid TOML: Expected ']' at the end of a table declaration (column 5)",
    ),
    (b"[run]\n[run]\n", "ostler.toml:2: not valid TOML: Cannot declare ('run',) twice (column 5)"),
    (b"[run]\nmodel = 'a\xff'\n", "ostler.toml:2: not UTF-8 text"),
    (b"a = \0", "ostler.toml:1: not valid TOML: Invalid value (column 5)"),
    (b"a = " + b"[" * 5000, "ostler.toml: not valid TOML: nested too deep"),
    (
        b"a = " + b"1" * 5000,
        "ostler.toml: not valid TOML: Exceeds the limit (4300 digits) for integer string conversion: "
        "value has 5000 digits",
    ),
    (b"#" * (256 * 1024 + 1), "ostler.toml: cannot be read: it is larger than 256 KiB"),
]


@pytest.mark.parametrize(("data", "line"), BAD_BYTES, ids=[line[:70] for _, line in BAD_BYTES])
def test_a_file_that_is_no_toml(tmp_path: Path, data: bytes, line: str) -> None:
    """The line comes with tomllib's own reason, whatever the bytes are."""
    (tmp_path / "f").write_bytes(data)
    assert told(tmp_path / "f") == [line]


def test_what_is_not_there_says_nothing(tmp_path: Path) -> None:
    """A missing file, also below something that is no directory, is no mistake."""
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for path in (tmp_path / "none", tmp_path / "file" / "none", tmp_path / "dangling"):
        assert told(path) == []


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    """A directory, a loop of links and a pipe that nobody writes to do not hang or trace."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    assert told(tmp_path / "folder") == ["ostler.toml: cannot be read: it is a directory"]
    assert told(tmp_path / "pipe") == ["ostler.toml: cannot be read: it is not a regular file"]
    assert told(tmp_path / "loop") == ["ostler.toml: cannot be read: too many levels of symbolic links"]


def test_a_forbidden_file_is_one_sentence(tmp_path: Path) -> None:
    """A file of somebody else is told as such; root, who may read everything, is nobody for a moment."""
    (tmp_path / "f").touch(mode=0)
    was = os.geteuid()
    os.seteuid(65534 if was == 0 else was)
    try:
        assert told(tmp_path / "f") == ["ostler.toml: cannot be read: permission denied"]
    finally:
        os.seteuid(was)

"""One settings file: a path that is not a file, not text or not TOML gives a one-sentence error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostler.config.settings import Settings
from ostler.config.toml_file import read_file


def reported(path: Path) -> list[str]:
    return [
        mistake.problem.text for mistake in read_file(Settings, path, "ostler.toml", "project file").errors
    ]


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
    """The error has the line and the reason of tomllib, for any bytes."""
    (tmp_path / "f").write_bytes(data)
    assert reported(tmp_path / "f") == [line]


def test_a_missing_file_has_no_settings(tmp_path: Path) -> None:
    """A missing file, also below a path that is not a directory, is not an error."""
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for path in (tmp_path / "none", tmp_path / "file" / "none", tmp_path / "dangling"):
        assert reported(path) == []


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    """A directory, a loop of links and a pipe without a writer cause neither a hang nor a traceback."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    assert reported(tmp_path / "folder") == ["ostler.toml: cannot be read: it is a directory"]
    assert reported(tmp_path / "pipe") == ["ostler.toml: cannot be read: it is not a regular file"]
    assert reported(tmp_path / "loop") == ["ostler.toml: cannot be read: too many levels of symbolic links"]


def test_a_forbidden_file_is_one_sentence(tmp_path: Path) -> None:
    """A file without read permission is reported as such; root drops its privileges for the check."""
    (tmp_path / "f").touch(mode=0)
    was = os.geteuid()
    os.seteuid(65534 if was == 0 else was)
    try:
        assert reported(tmp_path / "f") == ["ostler.toml: cannot be read: permission denied"]
    finally:
        os.seteuid(was)

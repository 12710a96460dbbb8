from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ostler.process.occupied import is_occupied

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this cannot be determined here")


def test_a_process_that_works_below_occupies(tmp_path: Path) -> None:
    """A process in a deep subdirectory counts; a directory with the same prefix is another one."""
    (tmp_path / "place" / "deep").mkdir(parents=True)
    (tmp_path / "pla").mkdir()
    with subprocess.Popen(["sleep", "300"], cwd=tmp_path / "place" / "deep") as alive:
        try:
            assert is_occupied(tmp_path / "place")
            assert not is_occupied(tmp_path / "pla")
        finally:
            alive.kill()
    assert not is_occupied(tmp_path / "place")


def test_an_open_file_occupies(tmp_path: Path) -> None:
    """A process that can still write there occupies it."""
    code = "import sys; file = open(sys.argv[1], 'w'); print('open', flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", code, str(tmp_path / "file")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout and writer.stdout.readline() == b"open\n"
        assert is_occupied(tmp_path)
        writer.communicate()
    assert not is_occupied(tmp_path)

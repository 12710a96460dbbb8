"""A lock that ends with its owner."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ostler.errors import OstlerError
from ostler.files.lock import is_locked, try_lock

HOLD = "import sys; from pathlib import Path; from ostler.files.lock import try_lock; "
HOLD += "held = try_lock(Path(sys.argv[1])); print(held is not None, flush=True); sys.stdin.read()"


def test_one_owner(tmp_path: Path) -> None:
    """A lock has one owner; the next one gets it after the release."""
    path = tmp_path / "lock"
    held = try_lock(path)
    assert held is not None
    assert try_lock(path) is None
    assert is_locked(path)
    held.release()
    held.release()
    assert not is_locked(path)
    with try_lock(path) as again:  # pyright: ignore
        assert again is not None


def test_probe_makes_no_file(tmp_path: Path) -> None:
    """A probe creates no file."""
    assert not is_locked(tmp_path / "lock")
    assert list(tmp_path.iterdir()) == []


def test_killed_owner_gives_it_back(tmp_path: Path) -> None:
    """kill -9 of the owner releases the lock; the remaining file has no effect."""
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"True\n"
        assert is_locked(path)
        assert try_lock(path) is None
        owner.kill()
        owner.wait()
        assert path.exists()
        assert not is_locked(path)
        assert try_lock(path) is not None


def test_child_does_not_inherit(tmp_path: Path) -> None:
    """A program that the owner starts does not keep the lock, unless it is given the descriptor."""
    path = tmp_path / "lock"
    for given in (False, True):
        held = try_lock(path)
        assert held is not None
        fds = (held.fd,) if given else ()
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=fds) as child:
            held.release()
            assert is_locked(path) is given
            assert child.stdin is not None
            child.stdin.close()
        assert not is_locked(path)


def test_probes_do_not_refuse_a_taker(tmp_path: Path) -> None:
    """Repeated probes never make a free lock appear taken."""
    path = tmp_path / "lock"
    path.touch()
    done = threading.Event()

    def probe() -> None:
        while not done.is_set():
            is_locked(path)

    prober = threading.Thread(target=probe)
    prober.start()
    try:
        for _ in range(200):
            held = try_lock(path)
            assert held is not None
            held.release()
    finally:
        done.set()
        prober.join()


def test_private_and_no_link(tmp_path: Path) -> None:
    """The file is 0600 with any umask, and a planted link is not followed."""
    old = os.umask(0)
    try:
        held = try_lock(tmp_path / "lock")
    finally:
        os.umask(old)
    assert held is not None
    assert os.fstat(held.fd).st_mode & 0o777 == 0o600
    held.release()
    (tmp_path / "planted").symlink_to(tmp_path / "victim")
    with pytest.raises(OstlerError, match="planted"):
        try_lock(tmp_path / "planted")
    assert not (tmp_path / "victim").exists()

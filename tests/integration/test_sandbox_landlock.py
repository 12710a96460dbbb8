"""The tier landlock: what it refuses, as root and as another user, and what it lacks on older kernels."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.errors import Code, OstlerError
from ostler.model.command import Command, Exit
from ostler.model.policy.sandbox import Network
from ostler.process.runner import DefaultCommandRunner
from ostler.sandbox.box import landlock_self_test, restrictions, tiers
from ostler.sandbox.box.attach import send_listener
from ostler.sandbox.box.box import Box, Limits
from ostler.sandbox.box.landlock import LandlockLauncher, find_missing_feature, open_listener
from ostler.sandbox.box.landlock_self_test import why_landlock_fails
from ostler.sandbox.box.restrict import find_landlock_version
from ostler.sandbox.box.restrictions import Restrictions, wrap_with_restrictions
from ostler.sandbox.mounts import Mount
from ostler.sandbox.network.policy import PROXY_PORT, NetworkPolicy
from ostler.sandbox.network.proxy import Proxy
from other_user import run_as_other_user

PYTHON = "/usr/bin/python3"  # that every user can run
pytestmark = pytest.mark.skipif(find_landlock_version() < 4, reason="the kernel has no Landlock 4")
NETWORKS: tuple[Network, ...] = ("proxy", "off", "on")


@pytest.fixture
def box(tmp_path: Path) -> Box:
    work, home = tmp_path / "work", tmp_path / "home"
    for one in (work, home, tmp_path / "other"):
        one.mkdir()
    (tmp_path / "other" / "secret").write_text("secret")
    return Box(work, home, home, mounts=(Mount(work, work, writable=True),), network="on")


def run(launcher: LandlockLauncher, script: str, **changes: object) -> tuple[Exit, list[str]]:
    lines: list[str] = []
    env = {"PATH": os.environ["PATH"], "HOME": str(launcher.box.home)}
    command = Command(
        ("/bin/sh", "-c", script), str(launcher.box.directory), env, launcher=launcher, grace_seconds=0.2
    )
    ended = asyncio.run(
        DefaultCommandRunner().run(
            replace(command, **changes), lambda line: bool(lines.append(line.decode()))
        )
    )
    return ended, lines


@pytest.mark.parametrize("network", NETWORKS)
def test_the_self_test_passes(network: Network) -> None:
    """Every check is made on this kernel."""
    assert why_landlock_fails(network) == ""


@pytest.fixture
def for_all_users(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The programs are at paths that every user can read."""
    why_landlock_fails.cache_clear()
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        program = shutil.copy(restrictions.restrict.__file__, name)
        monkeypatch.setattr(restrictions.restrict, "__file__", program)
        monkeypatch.setattr(restrictions, "find_interpreter", lambda: PYTHON)
        monkeypatch.setattr(landlock_self_test, "find_interpreter", lambda: PYTHON)
        yield
    why_landlock_fails.cache_clear()


@pytest.mark.usefixtures("for_all_users")
def test_another_user_can_use_it() -> None:
    """Landlock needs no rights: the self-test passes for an ordinary user too."""
    assert run_as_other_user(lambda: why_landlock_fails("proxy")) == ""


@pytest.mark.usefixtures("for_all_users")
def test_the_self_test_finds_what_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Landlock and without filters the checks fail that need them: a control of the test."""
    monkeypatch.setattr("ostler.sandbox.box.landlock.wrap_with_restrictions", lambda found: ())
    failed = run_as_other_user(lambda: why_landlock_fails("proxy"))
    for name in ("connect", "list", "read", "remove", "signal", "truncate", "udp", "unix", "write"):
        assert name in failed


def test_files_outside_stay_as_they_are(box: Box) -> None:
    """The worktree and HOME are writable; other files can neither be read, changed nor removed."""
    other = box.home.parent / "other"
    script = f"""
        echo new > new && echo kept > "$HOME/kept" && echo tmp > "$TMPDIR/tmp" && echo written
        cat {other}/secret; echo x > {other}/secret; rm {other}/secret
        mv new {other}/new; ln {other}/secret link
        ls {other} || echo refused"""
    ended, lines = run(LandlockLauncher(box), script)
    assert lines == ["written", "refused"]
    assert ended.status != 127
    assert (box.directory / "new").read_text() == "new\n"
    assert [one.name for one in other.iterdir()] == ["secret"]
    assert (other / "secret").read_text() == "secret"


def test_the_proxy_is_the_only_port(box: Box) -> None:
    """The proxy gets the listener of this attempt under its usual number; another port is refused."""
    received: list[socket.socket] = []
    with open_listener() as listener, socket.create_server(("127.0.0.1", 0)) as other:
        launcher = LandlockLauncher(replace(box, network="proxy"), received.append, listener)
        ports = (listener.getsockname()[1], other.getsockname()[1])
        connect = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])))"
        script = "".join(f'{PYTHON} -c "{connect}" {port} 2>/dev/null; echo $?\n' for port in ports)
        assert run(launcher, script)[1] == ["0", "1"]
        (connection,) = received
        data, descriptors, _, _ = socket.recv_fds(connection, 100, 10)
        assert data == b"%d\n" % PROXY_PORT
        with socket.socket(fileno=descriptors[0]) as sent, connection:
            assert sent.getsockname() == listener.getsockname()
            assert connection.recv(10) == b""


def test_paths_with_special_characters_are_one_rule(box: Box) -> None:
    """A newline or a percent sign in a name adds no rule and loses none."""
    odd = box.home.parent / "a\nwritable %n%p"
    odd.mkdir()
    (odd / "file").write_text("read")
    assert run(LandlockLauncher(replace(box, readable=(odd,))), f"cat '{odd}/file'")[1] == ["read"]


def test_hidden_directories_are_not_readable(box: Box) -> None:
    """A rule applies to all of a directory: one with a hidden part is allowed entry by entry."""
    project, empty = box.home.parent / "project", box.home.parent / "empty"
    (project / ".git" / "ostler").mkdir(parents=True)
    (project / ".git" / "ostler" / "journal").write_text("journal")
    (project / "file").write_text("file")
    (project / ".git" / "HEAD").write_text("head")
    empty.mkdir()
    hidden = replace(
        box, mounts=(*box.mounts, Mount(project, project), Mount(empty, project / ".git/ostler"))
    )
    script = (
        f"cd {project}; cat file .git/HEAD .git/ostler/journal 2>/dev/null; echo; echo x > file || echo ro"
    )
    assert run(LandlockLauncher(hidden), script)[1] == ["filehead", "ro"]


def test_a_stop_reaches_the_program_itself(box: Box) -> None:
    """SIGTERM is not caught on the way, and the limit of file size applies."""
    script = "trap 'echo bye; exit 3' TERM; echo $$; while :; do sleep 0.05; done"
    ended, lines = run(LandlockLauncher(box), script, timeout_seconds=1.0, grace_seconds=10.0)
    assert (ended.status, lines[1:]) == (3, ["bye"])
    small = replace(box, limits=Limits(file_mb=1))
    ended, _ = run(LandlockLauncher(small), "head -c 3000000 /dev/zero > big")
    assert ended.status != 0
    assert (box.directory / "big").stat().st_size == 1 << 20


@pytest.mark.parametrize(
    ("version", "network", "part"),
    [
        (0, "on", "has no Landlock"),
        (2, "on", "cannot protect files from being emptied"),
        (3, "proxy", 'cannot restrict the network (Linux 6.7 can): set sandbox.network to "on" or "off"'),
        (3, "on", ""),
        (3, "off", ""),
        (4, "proxy", ""),
    ],
)
def test_what_an_older_kernel_lacks(version: int, network: Network, part: str) -> None:
    """A sandbox that would not hold is refused, and the message has the setting to change."""
    found = find_missing_feature(version, network)
    assert part in found
    assert bool(found) == bool(part)


def test_it_never_counts_as_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent keeps its permission checks; a kernel without it is SANDBOX_UNAVAILABLE."""
    assert tiers.choose_tier("landlock", {}).verified is False
    reason = "the kernel has no Landlock"
    monkeypatch.setattr(landlock_self_test, "why_landlock_fails", lambda network: reason)
    with pytest.raises(OstlerError, match="the kernel has no Landlock") as raised:
        tiers.choose_tier("landlock", {})
    assert raised.value.code is Code.SANDBOX_UNAVAILABLE


def test_nothing_starts_with_fewer_restrictions() -> None:
    """A filter that the kernel refuses ends the program before it starts."""
    argv = (*wrap_with_restrictions(Restrictions(filters=(bytes(8),))), "/bin/echo", "started")
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (125, "")
    assert "the restrictions cannot be applied" in ended.stderr


@pytest.mark.parametrize(
    ("program", "status"), [("/nowhere/x", 127), ("/etc/passwd", 126), (sys.executable, 0)]
)
def test_the_status_of_a_program_that_cannot_start(program: str, status: int) -> None:
    """It is that of a shell."""
    argv = (*wrap_with_restrictions(Restrictions()), program, "-c", "pass")
    assert subprocess.run(argv, capture_output=True, check=False).returncode == status


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_other_users_cannot_use_the_proxy() -> None:
    """The port belongs to the machine: a connection of another user is closed without an answer."""

    async def act() -> tuple[bytes, bytes]:
        with open_listener() as listener:
            async with Proxy(NetworkPolicy(), lambda refusal: None, lambda model, usage: "") as proxy:
                send_listener(proxy.attach, listener)
                address = listener.getsockname()
                own = await asyncio.to_thread(ask, address)
                other = await asyncio.to_thread(run_as_other_user, lambda: ask(address).decode())
                return own, other.encode()

    own, other = asyncio.run(act())
    assert own.startswith(b"HTTP/1.1 ")
    assert other == b""


def ask(address: tuple[str, int]) -> bytes:
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET http://foreign.example/ HTTP/1.1\r\nHost: foreign.example\r\n\r\n")
        try:
            return connection.recv(100)
        except ConnectionError:
            return b""

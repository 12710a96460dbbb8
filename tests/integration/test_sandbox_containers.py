"""Containers end with their run: the real launcher, control and supervisor, with a fake engine."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fake_engine import FakeEngine
from ostler.errors import Code, OstlerError
from ostler.executors.exit_status import classify_exit
from ostler.model.command import Command, Exit
from ostler.process.runner import DefaultCommandRunner
from ostler.process.sweep import MARKER
from ostler.sandbox.box import tiers
from ostler.sandbox.box.box import Box
from ostler.sandbox.containers import self_test
from ostler.sandbox.containers.arguments import Container, build_run_arguments
from ostler.sandbox.containers.launcher import ContainerLauncher
from ostler.sandbox.containers.self_test import why_container_fails
from ostler.sandbox.containers.sweep import sweep_containers
from ostler.sandbox.mounts import Mount
from ostler.sandbox.network.policy import PROXY_PORT
from ostler.sandbox.owner import create_name
from world import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("bwrap"), reason="the fake engine needs bubblewrap")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[FakeEngine]:
    made = FakeEngine(tmp_path)
    yield made
    made.close()


@pytest.fixture
def launcher(engine: FakeEngine, tmp_path: Path) -> ContainerLauncher:
    work, home = tmp_path / "work", tmp_path / "private"
    for one in (work, home):
        one.mkdir()
    box = Box(work, home, tmp_path / "home", mounts=(Mount(work, work, writable=True),))
    environ = {"PATH": os.environ["PATH"], "DOCKER_HOST": "unix:///nowhere"}
    return ContainerLauncher("docker", str(engine.program), "image", box, environ)


def create_command(launcher: ContainerLauncher, script: str, **changes: object) -> Command:
    env = {MARKER: "store:T1:2", "HOME": str(launcher.box.home_path), "SECRET": "hidden\nvalue"}
    command = Command(("/bin/sh", "-c", script), str(launcher.box.directory), env, launcher=launcher)
    return replace(command, **{"grace_seconds": 0.3, **changes})


def run(command: Command) -> tuple[Exit, list[str]]:
    lines: list[str] = []
    ended = asyncio.run(DefaultCommandRunner().run(command, lambda line: bool(lines.append(line.decode()))))
    return ended, lines


def wait_for(condition: Callable[[], object]) -> None:
    wait_until(lambda: bool(condition()), 20, "it did not happen")


def count(mark: str) -> int:
    found = subprocess.run(["pgrep", "-xfc", mark], capture_output=True, text=True, check=False)
    return int(found.stdout)


def test_a_program_runs_with_its_input_and_files(launcher: ContainerLauncher, engine: FakeEngine) -> None:
    """Input, output, status, variables and the worktree are those of the program; secrets are not in argv."""
    script = 'cat; echo "$SECRET"; echo "$OF_IMAGE $HOME"; echo new > new; touch /usr/x || exit 7'
    ended, lines = run(create_command(launcher, script, stdin=b"prompt\n"))
    assert (ended.status, lines) == (7, ["prompt", "hidden", "value", f"1 {launcher.box.home_path}"])
    assert (launcher.box.directory / "new").exists()
    ((argv, env),) = engine.calls
    assert "hidden" not in " ".join(argv)
    assert {"SECRET", "HTTP_PROXY"} & env.keys() == set()
    assert env["DOCKER_HOST"] == "unix:///nowhere"
    assert env[MARKER] == "store:T1:2"


def test_programs_of_the_task_are_first_on_the_path(launcher: ContainerLauncher) -> None:
    """Directories of PATH that are mounted are kept, before those of the image; others do not exist there."""
    tool = launcher.box.directory / "bin" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho tool\n")
    tool.chmod(0o755)
    command = create_command(launcher, 'tool; echo "$PATH"')
    env = {**command.env, "PATH": f"{tool.parent}:/opt/nowhere:/usr/bin"}
    assert run(replace(command, env=env))[1] == ["tool", f"{tool.parent}:/usr/bin:/bin"]


def test_the_self_test_passes_and_fails(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """All checks of bubblewrap are made in the container; with a network of the machine one fails."""
    why_container_fails.cache_clear()
    assert why_container_fails("docker", str(engine.program), "image") == ""
    monkeypatch.setattr("ostler.sandbox.containers.launcher.build_run_arguments", with_host_network)
    why_container_fails.cache_clear()
    assert why_container_fails("docker", str(engine.program), "image") == "its self-test failed (connect)"


def with_host_network(container: Container) -> tuple[str, ...]:
    return tuple("host" if one == "none" else one for one in build_run_arguments(container))


def test_the_proxy_gets_the_ports(launcher: ContainerLauncher) -> None:
    """A listener inside is served outside; its connection ends before the program starts."""
    received: list[socket.socket] = []
    box = replace(launcher.box, local_ports=(5432,))
    inside = replace(launcher, attach=received.append, box=box)
    connect = f"import socket; print(socket.create_connection(('127.0.0.1', {PROXY_PORT})).recv(9).decode())"

    async def serve() -> list[str]:
        lines: list[str] = []
        command = create_command(inside, f'python3 -c "{connect}"')
        running = asyncio.create_task(
            DefaultCommandRunner().run(command, lambda line: bool(lines.append(line.decode())))
        )
        await asyncio.to_thread(wait_for, lambda: received)
        (connection,) = received
        ports = dict([await asyncio.to_thread(_receive, connection) for _ in range(2)])
        assert await asyncio.to_thread(connection.recv, 1) == b""
        assert sorted(ports) == [5432, PROXY_PORT]
        accepted, _ = await asyncio.to_thread(ports[PROXY_PORT].accept)
        accepted.sendall(b"outside")
        accepted.close()
        await running
        return lines

    assert asyncio.run(serve()) == ["outside"]


def _receive(connection: socket.socket) -> tuple[int, socket.socket]:
    data, descriptors, _, _ = socket.recv_fds(connection, 100, 1)
    return int(data), socket.socket(fileno=descriptors[0])


def stop_when_on(command: Command) -> list[str]:
    """Stop the command after its first line; return all lines."""
    lines: list[str] = []

    async def act() -> None:
        running = asyncio.create_task(
            DefaultCommandRunner().run(command, lambda line: bool(lines.append(line.decode())))
        )
        await asyncio.to_thread(wait_for, lambda: lines)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(act())
    return lines


def test_a_stop_gives_the_program_its_time(launcher: ContainerLauncher) -> None:
    """SIGTERM reaches the program through the client."""
    script = "trap 'echo bye; exit 3' TERM; echo on; while :; do sleep 0.05; done"
    assert stop_when_on(create_command(launcher, script, grace_seconds=10.0)) == ["on", "bye"]


def test_a_program_that_ignores_the_stop_is_killed(launcher: ContainerLauncher, engine: FakeEngine) -> None:
    """Killing the client ends nothing; the supervisor kills all processes before the command returns."""
    mark = f"sleep 7{os.getpid()}"
    script = f"trap '' TERM; setsid {mark} & setsid {mark} & echo on; while :; do sleep 0.05; done"
    stop_when_on(create_command(launcher, script))
    assert count(mark) == 0
    assert engine.find("rm") == []


def test_what_a_program_leaves_is_killed(launcher: ContainerLauncher) -> None:
    """The container ends with its program, also when daemons are left; the status is that of the program."""
    mark = f"sleep 8{os.getpid()}"
    ended, lines = run(create_command(launcher, f"setsid {mark} & sleep 0.1; echo end; kill -9 $$"))
    assert (ended.status, lines) == (128 + 9, ["end"])
    assert count(mark) == 0


RUN = """if True:
    import asyncio, os, sys
    from pathlib import Path
    from ostler.model.command import Command
    from ostler.process.runner import DefaultCommandRunner
    from ostler.sandbox.box.box import Box
    from ostler.sandbox.containers.launcher import ContainerLauncher
    from ostler.sandbox.mounts import Mount
    program, work, script = sys.argv[1:4]
    box = Box(Path(work), Path(work), Path("/home/x"), mounts=(Mount(Path(work), Path(work), True),))
    launcher = ContainerLauncher("docker", program, "image", box, dict(os.environ))
    command = Command(("/bin/sh", "-c", script), work, {}, launcher=launcher)
    asyncio.run(DefaultCommandRunner().run(command, lambda line: False))"""


def test_the_container_ends_when_the_run_is_killed(engine: FakeEngine, tmp_path: Path) -> None:
    """SIGKILL of the run: its connection closes, and no process of the container is left."""
    mark = f"sleep 9{os.getpid()}"
    argv = [sys.executable, "-c", RUN, str(engine.program), str(tmp_path), f"setsid {mark} & {mark}"]
    with subprocess.Popen(argv, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)}) as process:
        wait_for(lambda: count(mark) >= 2)
        process.send_signal(signal.SIGKILL)
    wait_for(lambda: count(mark) == 0)
    wait_for(lambda: not engine.containers)


def test_out_of_memory_is_reported(launcher: ContainerLauncher, engine: FakeEngine) -> None:
    """The supervisor counts the kills in the group of the container: AGENT_OOM."""
    flag = launcher.box.directory / "flag"
    script = f"touch {flag}; while test -e {flag}; do sleep 0.02; done; kill -9 $$"

    async def act() -> Exit:
        running = asyncio.create_task(
            DefaultCommandRunner().run(create_command(launcher, script), lambda line: False)
        )
        await asyncio.to_thread(wait_for, flag.exists)
        engine.memory_events.write_text("oom 1\noom_kill 1\n")
        flag.unlink()
        return await running

    ended = asyncio.run(act())
    assert ended.oom_killed
    assert classify_exit(ended, "claude").code is Code.AGENT_OOM
    engine.memory_events.write_text("oom 1\noom_kill 1\n")
    assert not run(create_command(launcher, "kill -9 $$"))[0].oom_killed


def test_a_container_that_did_not_start_is_removed(launcher: ContainerLauncher, engine: FakeEngine) -> None:
    """The engine's message is kept, and what it may have created is removed by name."""
    missing = replace(launcher, image="missing")
    engine.containers["other"] = 0
    ended, _ = run(create_command(missing, "echo"))
    assert ended.status == 125
    assert "No such image" in ended.stderr_tail
    ((_, _, name),) = engine.find("rm")
    assert "-T1-2" in name


def test_containers_of_dead_runs_are_swept(engine: FakeEngine) -> None:
    """Those of this run, of living ones and of other programs stay."""

    own = create_name("T1:1")
    sleeper = subprocess.Popen(["sleep", "60"])
    dead = own.replace(f"-{os.getpid()}-", "-1-")
    engine.containers |= {own: 0, dead: sleeper.pid, "postgres": 0}
    assert sweep_containers(str(engine.program), os.environ) == 1
    assert [*engine.containers] == [own, "postgres"]
    assert sleeper.wait() == -signal.SIGKILL


def test_why_containers_are_unavailable(engine: FakeEngine, tmp_path: Path) -> None:
    """Each message has the next step: the program, the image, or what failed."""
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for asked, image, part in (
        ("podman", "image", "podman is not installed"),
        ("docker", "", "sandbox.image is not set"),
        ("docker", "missing", "No such image"),
    ):
        if asked == "podman" and shutil.which("podman"):
            continue
        with pytest.raises(OstlerError, match=part) as raised:
            tiers.choose_tier(asked, environ, image=image)
        assert raised.value.code is Code.SANDBOX_UNAVAILABLE
    chosen = tiers.choose_tier("docker", environ, image="image")
    assert (chosen.verified, chosen.program) == (True, str(engine.program))


def test_the_supervisor_runs_only_as_the_first_process() -> None:
    """It kills every process that it can reach."""
    program = Path(self_test.__file__).with_name("supervisor.py")
    ended = subprocess.run([sys.executable, "-I", "-S", program, "/x"], capture_output=True, check=False)
    assert ended.returncode == 125
    assert b"first process of a container" in ended.stderr

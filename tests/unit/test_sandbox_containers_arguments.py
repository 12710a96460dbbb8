"""The command lines of docker and podman, as recorded in tests/data/containers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.sandbox.box.box import Box, Limits
from ostler.sandbox.containers.arguments import (
    Container,
    Engine,
    build_client_environment,
    build_list_arguments,
    build_remove_arguments,
    build_run_arguments,
    format_mount,
)
from ostler.sandbox.mounts import Mount
from recorded_daemon import RecordedDaemon

DATA = Path(__file__).parents[1] / "data" / "containers"
DOCKER = shutil.which("docker")
BOX = Box(
    directory=Path("/project/.ostler/worktrees/T1"),
    home=Path("/state/T1/sandbox/home"),
    home_path=Path("/home/user"),
    mounts=(
        Mount(Path("/project/.ostler/worktrees/T1"), Path("/project"), writable=True),
        Mount(Path("/old"), Path("/project/.ostler/worktrees/T1")),
        Mount(Path("/project/.ostler/worktrees/T1"), Path("/project/.ostler/worktrees/T1"), writable=True),
        Mount(Path("/state/T1/pointer"), Path("/project/.ostler/worktrees/T1/.git")),
    ),
    limits=Limits(processes=2048, file_mb=4096, memory_mb=1024),
)


@pytest.fixture(autouse=True)
def ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 1000)


def describe(engine: Engine) -> Container:
    return Container(engine, engine, "image", "ostler-name", BOX, Path("/tmp/control"), ())


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_the_command_lines_are_the_recorded_ones(engine: Engine) -> None:
    """A change of an argument is a change of the contract, which was checked with the client of docker 28."""
    lines = [
        build_run_arguments(describe(engine)),
        build_list_arguments(engine),
        build_remove_arguments(engine, "ostler-name"),
    ]
    text = "\n".join("\n    ".join(one) + "\n" for one in lines)
    assert text == (DATA / f"{engine}.txt").read_text()


@pytest.mark.skipif(DOCKER is None, reason="the client of docker is not installed")
def test_the_real_client_asks_for_a_confined_container(tmp_path: Path) -> None:
    """What the client sends to its daemon is recorded: nothing is lost or misread in the command line."""
    daemon = RecordedDaemon(tmp_path / "socket")
    argv = build_run_arguments(describe("docker"))
    env = {"DOCKER_HOST": f"unix://{tmp_path / 'socket'}", "HOME": str(tmp_path), "HTTP_PROXY": "http://x"}
    ended = subprocess.run(
        [str(DOCKER), *argv[1:]], env=build_client_environment(env), capture_output=True, check=False
    )
    daemon.close()
    ((path, body),) = daemon.created
    assert path.endswith("/containers/create?name=ostler-name")
    assert b"recorded" in ended.stderr
    asked = body | body["HostConfig"]
    recorded = json.loads((DATA / "docker_create.json").read_text())
    assert {name: asked[name] for name in recorded} == recorded


def test_the_network_of_the_machine_is_used_only_on_request() -> None:
    """sandbox.network = "on"; a terminal and a box without a limit of memory change one argument each."""
    container = describe("docker")
    argv = build_run_arguments(
        replace(container, box=replace(BOX, network="on", limits=Limits()), terminal=True)
    )
    assert "--tty" in argv
    assert argv[argv.index("--network") + 1] == "host"
    assert "--memory" not in argv
    offline = build_run_arguments(replace(container, box=replace(BOX, network="off")))
    assert offline == build_run_arguments(container)


def test_the_client_gets_only_its_own_variables() -> None:
    """Proxy and keys of the program are not for the client."""
    own = {"DOCKER_HOST": "a", "PATH": "b", "XDG_RUNTIME_DIR": "c", "HOME": "d", "CONTAINER_HOST": "e"}
    assert build_client_environment({**own, "HTTPS_PROXY": "x", "ANTHROPIC_API_KEY": "y"}) == own


def test_a_path_with_commas_and_quotes_is_one_field() -> None:
    """The value of --mount is a line of CSV."""
    mount = Mount(Path('/a,b"c'), Path("/d=e"))
    assert format_mount(mount) == 'type=bind,"source=/a,b""c",target=/d=e,readonly'

"""The arguments of docker and podman; tests/data/containers has the recorded contract."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ostler.sandbox.box.box import Box
from ostler.sandbox.mounts import Mount

Engine = Literal["docker", "podman"]
LABEL = "ostler"
INSIDE = Path("/run/ostler-control")  # the start file, the programs and the socket, in the container
START, SUPERVISOR, RESTRICT, SOCKET = "start.json", "supervisor.py", "restrict.py", "socket"
_TMP_OPTIONS = "rw,exec,nosuid,nodev,size=2048m,mode=1777"
_SHM_MB = 256
_EXTRA_SHARE = 1.25  # of memory_mb: memory of the kernel and of written files counts too
# What the client needs to reach its daemon. The program gets none of it.
_CLIENT = ("DOCKER_", "CONTAINER_", "CONTAINERS_", "REGISTRY_AUTH_FILE", "XDG_")
_CLIENT_NAMES = ("PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS")


class Container(Struct, frozen=True):
    """One container to run."""

    engine: Engine
    program: str
    image: str
    name: str
    box: Box
    control: Path  # the directory that is mounted at INSIDE
    mounts: tuple[Mount, ...]  # after those of the box
    terminal: bool = False


def build_run_arguments(container: Container) -> tuple[str, ...]:
    """Return the client's arguments, without secrets: variables are in the start file."""
    box = container.box
    return (
        container.program, "run", "--rm", "--interactive", *(("--tty",) if container.terminal else ()),
        "--pull", "never", "--name", container.name, "--label", LABEL, "--log-driver", "none",
        "--network", "host" if box.network == "on" else "none",
        "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
        # Otherwise SELinux refuses the mounts, unless the user's files get another label.
        "--security-opt", "label=disable",
        *_user(container.engine), *_limits(box),
        "--tmpfs", f"/tmp:{_TMP_OPTIONS}", "--tmpfs", f"/var/tmp:{_TMP_OPTIONS}",  # noqa: S108
        "--shm-size", f"{_SHM_MB}m",
        *(argument for one in list_all_mounts(container) for argument in ("--mount", format_mount(one))),
        "--workdir", str(box.directory), "--entrypoint", "python3", container.image,
        "-I", "-S", str(INSIDE / SUPERVISOR), str(INSIDE / START),
    )  # fmt: skip


def list_all_mounts(container: Container) -> tuple[Mount, ...]:
    """Return the mounts in order: an engine refuses two at one path; of those of a box the last counts."""
    box = container.box
    home, control = Mount(box.home, box.home_path, writable=True), Mount(container.control, INSIDE)
    return tuple({one.destination: one for one in (home, *box.mounts, *container.mounts, control)}.values())


def build_list_arguments(program: str) -> list[str]:
    """Return the arguments that print the names of all containers that a run made."""
    return [program, "ps", "--all", "--filter", f"label={LABEL}", "--format", "{{.Names}}"]


def build_remove_arguments(program: str, name: str) -> list[str]:
    """Return the arguments that kill and remove a container."""
    return [program, "rm", "--force", name]


def build_client_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the client; those of the program, such as HTTP_PROXY, would confuse it."""
    return {
        name: value for name, value in environ.items() if name in _CLIENT_NAMES or name.startswith(_CLIENT)
    }


def format_mount(mount: Mount) -> str:
    """Return the value of --mount: fields of a CSV line."""
    fields = ["type=bind", f"source={mount.source}", f"target={mount.destination}"]
    if not mount.writable:
        fields.append("readonly")
    return ",".join(map(_quote, fields))


def _quote(field: str) -> str:
    return '"' + field.replace('"', '""') + '"' if any(one in field for one in ',"\n') else field


def _user(engine: Engine) -> tuple[str, ...]:
    keep = ("--userns", "keep-id") if engine == "podman" and os.geteuid() != 0 else ()
    return (*keep, "--user", f"{os.geteuid()}:{os.getegid()}")


def _limits(box: Box) -> tuple[str, ...]:
    limits = box.limits
    file_bytes = limits.file_mb << 20
    found = ("--pids-limit", str(limits.processes), "--ulimit", f"fsize={file_bytes}", "--ulimit", "core=0")
    if limits.memory_mb is None:
        return found
    memory = f"{int(limits.memory_mb * _EXTRA_SHARE)}m"
    return (*found, "--memory", memory, "--memory-swap", memory)

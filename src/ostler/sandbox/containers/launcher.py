"""Starts a command in a container that ends with its run."""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.command import Command
from ostler.process.sweep import MARKER
from ostler.process.tool import ToolTimeout, run_tool
from ostler.sandbox.box import restrict
from ostler.sandbox.box.attach import Attach
from ostler.sandbox.box.box import Box
from ostler.sandbox.box.program_paths import find_call_files
from ostler.sandbox.box.seccomp import build_filter, find_architecture
from ostler.sandbox.containers import supervisor
from ostler.sandbox.containers.arguments import (
    INSIDE,
    RESTRICT,
    SOCKET,
    START,
    SUPERVISOR,
    Container,
    Engine,
    build_client_environment,
    build_remove_arguments,
    build_run_arguments,
    list_all_mounts,
)
from ostler.sandbox.containers.control import Control
from ostler.sandbox.mount_points import prepare_writable
from ostler.sandbox.mounts import Mount
from ostler.sandbox.owner import create_name

_REMOVE_SECONDS = 30.0


class ContainerLauncher(Struct, frozen=True):
    """Changes a command so that docker or podman runs it.

    The processes of a container are not children of the client: killing the client ends none of them. The
    supervisor inside ends them when its connection to this process closes.
    """

    engine: Engine
    program: str
    image: str
    box: Box
    environ: Mapping[str, str]  # of this process: how the client reaches its daemon
    attach: Attach | None = None  # None: no proxy

    @contextmanager
    def launch(self, command: Command) -> Generator[Command]:
        """See Launcher.launch."""
        with tempfile.TemporaryDirectory(prefix="ostler-container-") as name:
            outside, shared = Path(name), Path(name, "shared")
            shared.mkdir()
            self._write_start(command, shared)
            control = Control(shared / SOCKET, shared / START, outside / "oom", self.attach)
            container = self._describe(command, shared)
            try:
                with prepare_writable(list_all_mounts(container)):
                    yield replace(
                        command,
                        argv=build_run_arguments(container),
                        env=self._client_env(command),
                        oom_counter=str(outside / "oom"),
                    )
            finally:
                if not control.close():
                    self._remove(container.name)

    def _describe(self, command: Command, shared: Path) -> Container:
        _, _, attempt = command.env.get(MARKER, "").partition(":")
        return Container(
            engine=self.engine,
            program=self.program,
            image=self.image,
            name=create_name(attempt or "command"),
            box=self.box,
            control=shared,
            mounts=tuple(Mount(one, one) for one in find_call_files(command)),
            terminal=command.pty,
        )

    def _write_start(self, command: Command, shared: Path) -> None:
        shutil.copy(supervisor.__file__, shared / SUPERVISOR)
        shutil.copy(restrict.__file__, shared / RESTRICT)
        specification = {"filters": [base64.b64encode(build_filter(find_architecture())).decode()]}
        program = ("python3", "-I", "-S", str(INSIDE / RESTRICT), json.dumps(specification))
        start = {
            "control": str(INSIDE / SOCKET),
            "ports": [self.box.proxy_port, *self.box.local_ports] if self.attach else [],
            "argv": [*program, self._name_program(command.argv[0]), *command.argv[1:]],
            "env": {name: value for name, value in command.env.items() if name != "PATH"},
            "path": [one for one in command.env.get("PATH", "").split(os.pathsep) if self._is_mounted(one)],
        }
        (shared / START).write_text(json.dumps(start))

    def _name_program(self, program: str) -> str:
        """Return the program's name: the image has its own, on its PATH; the task's files are mounted."""
        path = PurePath(program)
        return path.name if path.is_absolute() and not self._is_mounted(program) else program

    def _is_mounted(self, path: str) -> bool:
        return any(PurePath(path).is_relative_to(one.destination) for one in self.box.mounts)

    def _client_env(self, command: Command) -> dict[str, str]:
        marker = {MARKER: command.env[MARKER]} if MARKER in command.env else {}
        return build_client_environment(self.environ) | marker

    def _remove(self, name: str) -> None:
        """Remove a container that did not connect or did not end."""
        with suppress(OSError, ToolTimeout):
            run_tool(
                build_remove_arguments(self.program, name),
                env=build_client_environment(self.environ),
                cwd="/",
                timeout_seconds=_REMOVE_SECONDS,
            )

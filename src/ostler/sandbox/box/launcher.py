"""Starts a command in its box, and connects its ports to the proxy."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.command import Command
from ostler.sandbox.box.attach import Attach
from ostler.sandbox.box.box import Box
from ostler.sandbox.box.bubblewrap import list_mounts, wrap_with_bubblewrap
from ostler.sandbox.box.program_paths import list_program_paths, require_visible
from ostler.sandbox.box.seccomp import open_filter
from ostler.sandbox.box.tiers import ChosenTier
from ostler.sandbox.mount_points import prepare_writable
from ostler.sandbox.mounts import Mount

_FILTER, _CONTROL = 3, 4  # descriptors of the started program
# Variables of the dynamic linker: bwrap itself must not load libraries from the worktree.
_LINKER = ("LD_", "GLIBC_")


class BubblewrapLauncher(Struct, frozen=True):
    """Changes a command so that bubblewrap starts it; one launcher can start several commands."""

    chosen: ChosenTier
    box: Box
    attach: Attach | None = None  # None: no proxy

    @contextmanager
    def launch(self, command: Command) -> Generator[Command]:
        """See Launcher.launch."""
        require_visible(command.argv[0], self.box.mounts)
        box = replace(self.box, readable=(*self.box.readable, *list_program_paths(command)))
        with ExitStack() as stack:
            descriptors = [open_filter()]
            stack.callback(os.close, descriptors[0])
            if self.attach is not None:
                descriptors.append(self._connect(self.attach))
                stack.callback(os.close, descriptors[1])
            mounts = list_mounts(box)
            stack.enter_context(prepare_writable(mounts))
            env = {name: value for name, value in command.env.items() if not name.startswith(_LINKER)}
            argv = (*self._wrap(command, box, mounts), *command.argv)
            yield replace(command, argv=argv, env=env, passed=tuple(descriptors))

    def _wrap(self, command: Command, box: Box, mounts: tuple[Mount, ...]) -> tuple[str, ...]:
        return wrap_with_bubblewrap(
            self.chosen.program,
            self.chosen.namespaces,
            box,
            filter_fd=_FILTER,
            control=str(_CONTROL) if self.attach else "-",
            terminal=command.pty,
            variables={name: value for name, value in command.env.items() if name.startswith(_LINKER)},
            mounts=mounts,
        )

    @staticmethod
    def _connect(attach: Attach) -> int:
        ours, theirs = socket.socketpair()
        attach(ours)
        return theirs.detach()

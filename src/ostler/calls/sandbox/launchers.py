"""Creates the launcher of each tier."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from ostler.calls.sandbox.port import Port
from ostler.calls.sandbox.workspace import Workspace
from ostler.config.settings import SandboxSettings
from ostler.files.state_folder import STATE
from ostler.model.command import Launcher
from ostler.sandbox.box.attach import Attach
from ostler.sandbox.box.box import Box, Limits
from ostler.sandbox.box.landlock import LandlockLauncher
from ostler.sandbox.box.launcher import BubblewrapLauncher
from ostler.sandbox.box.tiers import ChosenTier
from ostler.sandbox.containers.launcher import ContainerLauncher
from ostler.sandbox.limits.limited import DiskLimit, LimitedLauncher
from ostler.sandbox.mounts import Mount


def open_launcher(
    chosen: ChosenTier,
    box: Box,
    attach: Attach | None,
    port: Port,
    settings: SandboxSettings,
    workspace: Workspace,
) -> tuple[Launcher, Box]:
    """Return the launcher of a sandbox with its limits, and its box as the tier can provide it."""
    match chosen.tier:
        case "landlock":
            box = _without_mounts(box, port, workspace.project)
            launcher = LandlockLauncher(box, attach, port.listener if box.network == "proxy" else None)
        case "docker" | "podman":
            # The toolchains are those of the image; what a person allowed is mounted.
            allowed = (Mount(one, one) for one in list_allowed_paths(settings, box.home_path))
            box = replace(box, mounts=(*allowed, *box.mounts))
            launcher = ContainerLauncher(chosen.tier, chosen.program, settings.image, box, os.environ, attach)
        case _:
            launcher = BubblewrapLauncher(chosen, box, attach)
    uses_cgroup = chosen.tier not in ("docker", "podman")
    return limit(launcher, box.limits, settings, workspace, uses_cgroup=uses_cgroup), box


def _without_mounts(box: Box, port: Port, project: Path) -> Box:
    """Nothing is mounted: the home directory has its own path, and the repository is read-only."""
    return replace(
        box,
        home_path=box.home,
        readable=(*box.readable, *_list_git_files(project)),
        proxy_port=port.number,
    )


def list_allowed_paths(settings: SandboxSettings, home: Path) -> list[Path]:
    """Return the paths of sandbox.allow_paths that exist."""
    paths = (Path(one.replace("~", str(home), 1)) for one in settings.allow_paths)
    return [one for one in paths if one.exists()]


def _list_git_files(project: Path) -> list[Path]:
    """Return the files of the repository without the journal and the files of tasks."""
    git = project / ".git"
    return [one for one in git.iterdir() if one.name != STATE] if git.is_dir() else []


def limit(
    launcher: Launcher | None,
    limits: Limits,
    settings: SandboxSettings,
    workspace: Workspace,
    *,
    uses_cgroup: bool = True,
) -> Launcher:
    """Return a launcher that also limits processes, memory and disk use; None: it does nothing else."""
    disk = DiskLimit((workspace.directory, workspace.place), settings.max_disk_mb)
    return LimitedLauncher(launcher, limits, disk, uses_cgroup)

"""A disk whose power can be cut: unflushed data is lost afterwards."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from world import World, wait_until

# EXT4_IOC_SHUTDOWN: from then on nothing is written to the disk.
SHUT_DOWN, WITHOUT_FLUSH = 0x8004587D, 2


class Disk:
    """An ext4 file system in a file, whose power can be cut."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "disk"
        self.place.mkdir()
        self._image = folder / "image"
        with self._image.open("wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", str(self._image)], check=True)
        self.mount()

    def mount(self) -> None:
        subprocess.run(["mount", "-o", "loop", str(self._image), str(self.place)], check=True)

    def cut(self) -> None:
        """From this moment nothing reaches the disk; then the machine starts again."""
        descriptor = os.open(self.place, os.O_RDONLY)
        fcntl.ioctl(descriptor, SHUT_DOWN, struct.pack("I", WITHOUT_FLUSH))
        os.close(descriptor)

    def start_again(self) -> None:
        self.unmount()
        self.mount()

    def unmount(self) -> None:
        """Unmount once no process uses the disk any more."""
        umount = ["umount", str(self.place)]
        wait_until(lambda: subprocess.run(umount, check=False).returncode == 0, 20, "the disk stays in use")
        # A sandbox of another test has a copy of the mount while it runs; the next mount would get it.
        loops = ["losetup", "--associated", str(self._image)]
        wait_until(lambda: not subprocess.check_output(loops), 20, "another mount of the disk is left")


MAKERS = {
    "ext4": ("mkfs.ext4", "-q"),
    "ext4 without a journal": ("mkfs.ext4", "-q", "-O", "^has_journal"),
    "xfs": ("mkfs.xfs", "-q"),
    "btrfs": ("mkfs.btrfs", "-q"),
}


class ImageDisk(Disk):
    """A disk of which a cut keeps what has reached its image: for every file system."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.place = folder / "disk"
        self.place.mkdir()
        self._image, self._kept = folder / "image", folder / "kept"
        with self._image.open("wb") as file:
            file.truncate(320 << 20)
        subprocess.run([*MAKERS[kind], str(self._image)], check=True)
        self._repairs = kind.endswith("journal")
        self.mount()

    def cut(self) -> None:
        shutil.copyfile(self._image, self._kept)

    def start_again(self) -> None:
        self.unmount()
        self._kept.replace(self._image)
        if self._repairs:
            subprocess.run(["fsck.ext4", "-fy", str(self._image)], stdout=subprocess.DEVNULL, check=False)
        self.mount()


@contextmanager
def powered_world(folder: Path, kind: str = "", **behaviour: object) -> Iterator[tuple[World, Disk]]:
    """A project on its own disk; skips the test where no such disk can be created."""
    try:
        disk = ImageDisk(folder, kind) if kind else Disk(folder)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"no {kind or 'ext4'} on a loop device here")
    try:
        world = World(folder, "disk/project", **behaviour)
        os.sync()
        yield world, disk
        world.close()
    finally:
        disk.unmount()


def write_back(folder: Path) -> None:
    """Flush each file below a directory, as the kernel may do at any time, and nothing else."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)

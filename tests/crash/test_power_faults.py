"""Power cuts: what was acknowledged is on the disk before the word is out (B22)."""

from __future__ import annotations

import fcntl
import os
import random
import re
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flushes import check_end_is_flushed, check_new_journal_is_flushed, check_task_is_flushed
from nemesis import needs_root, needs_strace
from oracle import check_all_done
from world import KILL, World, end, wait_until

CUTS = 50 if os.environ.get("OSTLER_FULL") else 5
SHUT_DOWN, WITHOUT_FLUSH = (
    0x8004587D,
    2,
)  # EXT4_IOC_SHUTDOWN: nothing that is not on the disk comes there any more


@needs_strace
@pytest.mark.parametrize("check", [check_task_is_flushed, check_end_is_flushed, check_new_journal_is_flushed])
def test_the_disk_has_it_before_the_word_is_out(world: World, check: Callable[[World], None]) -> None:
    """A submitted task, an end, a new journal: flushed first, told then."""
    check(world)


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
        """Once the last keeper has let go of its lock there."""
        umount = ["umount", str(self.place)]
        wait_until(lambda: subprocess.run(umount, check=False).returncode == 0, 20, "the disk stays in use")


@pytest.fixture
def powered(tmp_path: Path) -> Iterator[tuple[World, Disk]]:
    try:
        disk = Disk(tmp_path)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no ext4 on a loop device here")
    world = World(tmp_path, "disk/project")
    os.sync()
    yield world, disk
    world.close()
    disk.unmount()


@needs_root
def test_a_submitted_task_survives_a_power_cut(powered: tuple[World, Disk]) -> None:
    """The power goes right after each id is printed: every one is there afterwards, and all complete (W1)."""
    world, disk = powered
    tasks = []
    for number in range(CUTS):
        tasks.append(world.new(f"Task number {number}"))
        disk.cut()
        disk.start_again()
    assert sorted(task["id"] for task in world.json("status")["tasks"]) == sorted(tasks)
    world.ostler("run", "--all")
    disk.cut()
    disk.start_again()
    check_all_done(world, tasks)


@needs_root
def test_a_power_cut_in_the_middle_of_a_run_loses_nothing(powered: tuple[World, Disk]) -> None:
    """At random moments; what was told as completed stays so, with its commit, and the rest is done."""
    world, disk = powered
    chance = random.Random(5)
    world.behave(delay_seconds=0.2)
    tasks = [world.new(f"Task number {number}") for number in range(3)]
    for _ in range(CUTS):
        before = told_as_completed(world)
        run = world.start("run", "--all", "--json")
        time.sleep(chance.uniform(0.2, 1.2))
        disk.cut()
        end(run, KILL)
        world.close()
        disk.start_again()
        told = told_as_completed(world) | before
        kept = {task["id"] for task in world.json("status")["tasks"] if task["status"] == "completed"}
        assert told <= kept, "a task that was told as completed is not"
        tasks += [world.new("One more") for _ in range(3 - len(tasks) + len(kept))]
    world.ostler("run", "--all")
    check_all_done(world, tasks, power_cut=True)


def told_as_completed(world: World) -> set[str]:
    out = world.root.parent / "out.txt"
    said = out.read_text() if out.exists() else ""
    return set(re.findall(r'"task_id":"([^"]+)","type":"task_completed"', said))

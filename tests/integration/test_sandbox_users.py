"""The sandbox for ordinary users, in containers without rights, and where user namespaces are refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from another_user import USER, as_root_without_user_namespaces, as_user, can_use, in_container
from escape_world import EscapeWorld
from ostler.project.project import Project
from ostler.sandbox.box import self_test
from ostler.sandbox.box.bubblewrap import wrap_with_bubblewrap

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
]
Prefix = Callable[[], tuple[str, ...]]
CHOOSE = """
import json, os, sys
from ostler.errors import OstlerError
from ostler.sandbox.box.tiers import choose_tier
def choose(tier):
    try:
        found = choose_tier(tier, os.environ)
    except OstlerError as error:
        return [str(error.code), str(error), error.hint]
    return [found.tier, found.namespaces, found.verified, found.reason]
print(json.dumps([choose("auto"), choose("bubblewrap")]))
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every user can reach."""
    with tempfile.TemporaryDirectory(prefix="escapes-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def choose(prefix: tuple[str, ...]) -> list[list[object]]:
    """Return what `auto` and `bubblewrap` choose for a program with this prefix."""
    if not can_use():
        pytest.skip("this container cannot start programs as another user")
    argv = [*prefix, sys.executable, "-c", CHOOSE]
    done = subprocess.run(argv, env={"PATH": os.environ["PATH"]}, cwd="/", capture_output=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("prefix", "namespaces"), [(tuple, "user"), (as_user, "user"), (as_root_without_user_namespaces, "root")]
)
def test_bubblewrap_works(prefix: Prefix, namespaces: str) -> None:
    """Root, another user, and root without user namespaces have a verified sandbox."""
    expected = ["bubblewrap", namespaces, True, ""]
    assert choose(prefix()) == [expected, expected]


@pytest.mark.parametrize(
    "prefix", [lambda: as_user(user_namespaces=False), in_container], ids=["no user namespaces", "container"]
)
def test_without_namespaces(prefix: Prefix) -> None:
    """`auto` works without a sandbox and has the reason; the named tier is an error with what to do."""
    automatic, named = choose(prefix())
    assert automatic[:3] == ["supervised", "user", False]
    assert "namespace" in str(automatic[3])
    assert named[0] == "SANDBOX_UNAVAILABLE"
    assert str(named[1]).startswith('sandbox.tier is "bubblewrap", but ')
    assert str(named[2]).startswith("allow user namespaces (")


@pytest.mark.full
@pytest.mark.parametrize("tier", ["auto", "bubblewrap"])
def test_a_run_without_namespaces(place: Path, tier: str) -> None:
    """With `auto` the task is completed; with a named tier the run is refused and changes nothing."""
    if not can_use():
        pytest.skip("this container cannot start programs as another user")
    world = EscapeWorld(place, USER)
    try:
        (world.agent / "probe").write_text("#!/bin/sh\necho done > work.txt\n")
        prefix = as_user(user_namespaces=False)
        done = world.ostler(
            "run", "-p", "Work", "--weight", "small", prefix=prefix, OSTLER_SANDBOX__TIER=tier
        )
        tasks = json.loads(world.ostler("status", "--json", prefix=prefix).stdout)["tasks"]
        assert done.returncode == (0 if tier == "auto" else 2), done.stdout + done.stderr
        if tier == "auto":
            (task,) = tasks
            found = Project.open(world.root, {}).journal.attempts(task["id"])[0].sandbox
            assert found is not None
            assert found.tier == "supervised"
            assert "namespace" in found.reason
        else:
            assert 'sandbox.tier is "bubblewrap", but' in done.stderr
            assert tasks == []
    finally:
        world.close()


def drop(*names: str) -> Callable[[list[str]], list[str]]:
    """Remove options without values."""
    return lambda argv: [one for one in argv if one not in names]


def drop_pair(name: str, count: int, value: str = "") -> Callable[[list[str]], list[str]]:
    """Remove each option of this name with its values, if its last value is this one."""

    def change(argv: list[str]) -> list[str]:
        kept: list[str] = []
        rest = iter(argv)
        for one in rest:
            values = [next(rest) for _ in range(count)] if one == name else []
            if not values or (value and values[-1] != value):
                kept += [one, *values]
        return kept

    return change


def uncover_first(argv: list[str]) -> list[str]:
    """Leave the files of the first process as they are."""
    return drop_pair("--remount-ro", 1, "/proc/1")(drop_pair("--tmpfs", 1, "/proc/1")(argv))


def mount_another(argv: list[str]) -> list[str]:
    """Mount the other project, which is beside the working directory."""
    other = str(Path(argv[argv.index("--chdir") + 1]).with_name("other"))
    at = argv.index("--remount-ro", argv.index("--dev"))
    return [*argv[:at], "--bind", other, other, *argv[at:]]


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        (lambda argv: argv, []),
        (drop("--unshare-net"), ["connect"]),
        (drop_pair("--seccomp", 1), ["family"]),
        (drop_pair("--ro-bind-try", 2, "/proc/sys"), ["kernel"]),
        (uncover_first, ["first"]),
        (mount_another, ["read", "write"]),
    ],
    ids=["all", "network", "filter", "kernel", "first process", "another project"],
)
def test_the_self_test_finds_a_missing_protection(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[list[str]], list[str]], failed: list[str]
) -> None:
    """Without one of its arguments, the self-test of bubblewrap fails in the check of it."""

    def wrap(*args: Any, **options: Any) -> tuple[str, ...]:
        return tuple(change([*wrap_with_bubblewrap(*args, **options)]))

    monkeypatch.setattr(self_test, "wrap_with_bubblewrap", wrap)
    found = self_test.why_bubblewrap_fails.__wrapped__(shutil.which("bwrap") or "", "user")
    assert found == (f"its self-test failed ({', '.join(failed)})" if failed else "")

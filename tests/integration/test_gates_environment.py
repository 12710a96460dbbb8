"""Command gates with an environment of the commit's lockfile, on machines without namespaces."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from editable_world import ADDED_TEST, EditableWorld
from environment_world import EnvironmentWorld, settings_of
from gate_world import GateWorld
from git_world import git
from ostler.model.event import GateDecided
from ostler.sandbox import bubblewrap, unshare
from ostler.store.sqlite.store import SqliteStore
from wheels import make_wheel
from world import wait_until

PLANTED = "raise RuntimeError('planted')\n"
# The only path to the user's checkout that a gate has without links.
LOOK = """
import pathlib, sys
objects = pathlib.Path(".git/objects/info/alternates").read_text().strip().strip('"')
if sys.argv[1] != "a.txt":
    open(objects + "/../../" + sys.argv[1])
"""
CHECK = "python -c 'import tiny, shop.sums; assert tiny.VALUE == 1 and shop.sums.add(1, 2) == 3'"


@pytest.fixture(autouse=True)
def no_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "find_bubblewrap", lambda environ: None)
    monkeypatch.setattr(unshare, "find_unshare", lambda environ: None)


@pytest.fixture
def world(tmp_path: Path) -> EnvironmentWorld:
    return EnvironmentWorld(tmp_path / "world", tmp_path / "shared")


def isolation_of(event: GateDecided) -> str:
    assert event.check is not None
    return event.check.isolation


def reason_of(event: GateDecided) -> str:
    assert event.check is not None
    return event.check.no_environment


@pytest.mark.full
def test_a_gate_judges_the_commit_and_builds_once(world: EnvironmentWorld) -> None:
    """A module that raises or is deleted fails, an added one passes; uv runs for the first gate only."""
    gate = world.gate
    plain = gate.command(f"{CHECK} && tiny && python -I -c 'import shop.sums'")
    assert plain.verdict == "pass" and isolation_of(plain).startswith("env:"), gate.output(plain)
    assert plain.check and "the environment of the lockfile is used instead" in plain.check.links[0]
    arguments = world.builds[0]
    assert "--frozen" in arguments and "--no-install-project" in arguments

    world.commit({"uv.lock": "tiny 1.0\n", f"{world.package}/sums.py": PLANTED})
    for command in (
        CHECK,
        "python -I -c 'import shop.sums'",
        "env -i $VIRTUAL_ENV/bin/python -c 'import shop.sums'",
    ):
        raised = gate.command(command)
        assert raised.verdict == "fail" and "planted" in gate.output(raised), command
    world.commit({"uv.lock": "tiny 1.0\n", f"{world.package}/spare.py": None})
    assert gate.command("python -c 'import shop.spare'").verdict == "fail"
    world.commit({"uv.lock": "tiny 1.0\n", f"{world.package}/added.py": "TWO = 2\n", **ADDED_TEST})
    added = gate.command("python -c 'from shop.added import TWO'")
    assert (added.verdict, isolation_of(added)) == ("pass", isolation_of(plain)), gate.output(added)
    assert len(world.builds) == 1

    world.commit({"uv.lock": "tiny 1.0 # changed\n"})
    assert isolation_of(gate.command(CHECK)) != isolation_of(plain) and len(world.builds) == 2


def test_the_project_is_installed_from_the_checkout(world: EnvironmentWorld) -> None:
    """Its metadata and programs are there; its modules are those of the commit."""
    version = 'python -c \'from importlib.metadata import version; assert version("shop") == "1.0"\''
    event = world.gate.command(f"{version} && shop")
    assert event.verdict == "pass" and isolation_of(event).startswith("env:"), reason_of(event)
    assert str(world.gate.temporary) in world.gate.output(event)
    assert str(world.root) not in world.gate.output(event)


def test_a_linked_environment_is_replaced(world: EnvironmentWorld) -> None:
    """`.venv/bin/python` of the checkout is the new one, and the gate can write there without a trace."""
    world.commit({"uv.lock": "tiny 1.0\n", f"{world.package}/sums.py": PLANTED})
    settings = settings_of(link=(".venv",))
    event = world.gate.command(".venv/bin/python -c 'import shop.sums'", settings)
    assert event.verdict == "fail" and "planted" in world.gate.output(event)
    event = world.gate.command("touch .venv/written && .venv/bin/python -c 'import tiny'", settings)
    assert event.verdict == "pass" and isolation_of(event).startswith("env:"), world.gate.output(event)
    assert not (world.environment / "written").exists() and not world.gate.leftovers()


@pytest.mark.full
def test_the_user_files_are_not_opened(world: EnvironmentWorld) -> None:
    """A Python program that opens a file of the user's checkout gives no verdict."""
    world.commit({"uv.lock": "tiny 1.0\n", "look.py": LOOK})
    event = world.gate.command("python look.py a.txt")
    assert event.verdict == "pass" and isolation_of(event).startswith("env:")
    event = world.gate.command("python look.py src/shop/spare.py")
    assert event.verdict == "could_not_run" and isolation_of(event).startswith("env:")
    assert f"it opened files in {world.root}/.git/objects/../../src/shop" in event.reason


def test_an_interpreter_with_links_is_not_used(world: EnvironmentWorld) -> None:
    """A command that names it has no environment; one that it can find by PATH needs the guard."""
    event = world.gate.command(f"{world.environment}/bin/python -I -c 'import shop.sums'")
    assert event.verdict == "could_not_run" and "names a program in" in reason_of(event)
    home = world.gate.world.root / "home"
    site = home / ".local" / world.site.relative_to(world.environment)
    site.mkdir(parents=True)
    (site / "shop.pth").write_text(f"{world.root}/src\n")
    world.gate.environ["HOME"] = str(home)
    event = world.gate.command("python -c 'import shop.sums'")
    assert event.verdict == "pass" and isolation_of(event).startswith("env:"), event.reason
    event = world.gate.command("python -I -c 'import shop.sums'")
    assert event.verdict == "could_not_run" and "no Python program loaded the guard" in event.reason


def test_packages_of_the_user_directory_are_replaced(
    world: EnvironmentWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link in ~/.local counts for the interpreter on PATH: the gate uses the commit instead."""
    home = world.gate.world.root / "home"
    site = home / ".local" / world.site.relative_to(world.environment)
    site.parent.mkdir(parents=True)
    shutil.copytree(world.site, site, symlinks=True)
    del world.gate.environ["VIRTUAL_ENV"]
    interpreter = os.path.realpath(world.environment / "bin" / "python")
    (world.shared / "bin" / "python3").symlink_to(interpreter)
    path = f"{world.shared}/bin:/usr/bin:/bin"
    world.gate.environ |= {"HOME": str(home), "PATH": path}
    # The packages of this interpreter are those of the tests, which the lockfile does not name.
    monkeypatch.setattr("ostler.sandbox.environments.python_layer._require_packages", lambda *args: None)
    world.commit({"uv.lock": "tiny 1.0\n", f"{world.package}/sums.py": PLANTED})
    event = world.gate.command("python3 -c 'import tiny, shop.sums'")
    assert event.verdict == "fail" and "planted" in world.gate.output(event), event.reason
    assert isolation_of(event).startswith("env:"), reason_of(event)


def test_a_failed_build_falls_back_to_the_guard(world: EnvironmentWorld) -> None:
    """The reason is recorded; the build is not repeated for each gate."""
    world.commit({"uv.lock": "broken 1.0\n"})
    for _ in range(2):
        event = world.gate.command("python -c 'import shop.sums'")
        assert (event.verdict, isolation_of(event)) == ("pass", "guard")
        assert reason_of(event) == "`install uv.lock` exited with 2: broken is not in the index"
    assert len(world.builds) == 1


def test_a_package_that_the_lockfile_lacks_is_named(world: EnvironmentWorld) -> None:
    """Tests that need it would fail: the user's environment is used, with the guard."""
    (world.site / "extra-1.0.dist-info").mkdir()
    event = world.gate.command("python -c 'import shop.sums'")
    assert isolation_of(event) == "guard" and "does not install extra" in reason_of(event)
    (world.site / "extra-1.0.dist-info").rmdir()
    assert isolation_of(world.gate.command("python -c 'import shop.sums'")).startswith("env:")


def test_an_environment_that_is_not_active_stays_so(world: EnvironmentWorld) -> None:
    """Only a link of the checkout leads to the new one; PATH has no other programs than before."""
    del world.gate.environ["VIRTUAL_ENV"]
    folders = world.gate.environ["PATH"].split(os.pathsep)
    world.gate.environ["PATH"] = os.pathsep.join(one for one in folders if one != f"{world.environment}/bin")
    command = ".venv/bin/python -c 'import tiny, shop.sums' && ! command -v tiny && test -z \"$VIRTUAL_ENV\""
    event = world.gate.command(command, settings_of(link=(".venv",)))
    assert event.verdict == "pass" and isolation_of(event).startswith("env:"), world.gate.output(event)


def test_off_builds_nothing(world: EnvironmentWorld) -> None:
    """`environment = "off"` is as without a lockfile."""
    event = world.gate.command("python -c 'import shop.sums'", settings_of(environment="off"))
    assert isolation_of(event) == "guard" and "gates.environment is off" in reason_of(event)
    assert not world.builds


def test_the_isolation_is_listed(world: EnvironmentWorld) -> None:
    """`ostler gates` shows it although there is no control."""
    event = world.gate.command(CHECK, settings_of(control=True))
    with SqliteStore(world.gate.project.layout.database).open_gate_controls() as store:
        assert [one.isolation for one in store.controls()] == [isolation_of(event)]


def run_elsewhere(world: EnvironmentWorld, command: str = CHECK) -> subprocess.Popen[str]:
    """Start the gate in another process."""
    script = Path(__file__).parents[1] / "support" / "environment_world.py"
    arguments = [str(world.gate.world.root), world.gate.commit, command, str(world.environment)]
    return subprocess.Popen(
        [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, text=True, env=world.gate.environ
    )


@pytest.mark.full
def test_two_processes_build_once(tmp_path: Path) -> None:
    """The second one waits for the first one; a kill -9 in mid build leaves nothing that is used."""
    shared = tmp_path / "shared"
    first, second = (EnvironmentWorld(tmp_path / name, shared) for name in ("one", "two"))
    (shared / "wait").touch()
    killed = run_elsewhere(first)
    wait_until(lambda: len(first.builds) == 1, 30, "no build")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert [path.suffix for path in (shared / "cache/ostler/environments").iterdir() if path.is_dir()] != [""]
    runs = [run_elsewhere(one) for one in (first, second)]
    wait_until(lambda: len(first.builds) == 2, 30, "no build")
    (shared / "wait").unlink()
    answers = [one.communicate(timeout=60)[0].split() for one in runs]
    assert [answer[0] for answer in answers] == ["pass", "pass"] and answers[0] == answers[1]
    assert len(first.builds) == 2
    left = [path.name for path in (shared / "cache/ostler/environments").iterdir() if path.is_dir()]
    assert left == [answers[0][1].removeprefix("env:")]


@pytest.mark.full  # venv and pip take some seconds
def test_pip_installs_requirements(tmp_path: Path) -> None:
    """The line of the project is replaced by its dependencies; a broken module is rejected."""
    world = EditableWorld(tmp_path, "finder", "src")
    make_wheel(tmp_path / "wheels", "tiny", "VALUE = 1")
    world.gate.environ |= {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
        "PIP_CONFIG_FILE": os.devnull,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    files = {"requirements.txt": "tiny==1.0\n-e .\n"}
    world.commit(files)
    event = world.gate.command(f"{CHECK} && tiny", settings_of())
    assert event.verdict == "pass" and isolation_of(event).startswith("env:"), world.gate.output(event)
    world.commit({**files, f"{world.package}/sums.py": PLANTED})
    event = world.gate.command(CHECK, settings_of())
    assert event.verdict == "fail" and isolation_of(event).startswith("env:")


@pytest.mark.full
@pytest.mark.parametrize("target", ["{root}/a.txt", "../../project/a.txt", "elsewhere/a.txt"])
def test_a_committed_link_to_the_checkout_gives_no_verdict(tmp_path: Path, target: str) -> None:
    """A symbolic link of the commit that leads to the user's files is named; others are not affected."""
    world = GateWorld(tmp_path)
    assert world.command("cat a.txt").verdict == "pass"
    (world.root / "own").symlink_to("a.txt")
    (tmp_path / "elsewhere").symlink_to(world.root)
    git(world.root, "add", "-A")
    git(world.root, "commit", "-q", "-m", "own")
    world.commit = git(world.root, "rev-parse", "HEAD")
    assert world.command("cat own").verdict == "pass"
    place = world.temporary / "ostler-gate-0" / "project"
    path = target.format(root=world.root).replace("elsewhere", str(tmp_path / "elsewhere"))
    if path.startswith(".."):
        path = os.path.relpath(world.root / "a.txt", place)
    (world.root / "their").symlink_to(path)
    git(world.root, "add", "-A")
    git(world.root, "commit", "-q", "-m", "their")
    world.commit = git(world.root, "rev-parse", "HEAD")
    for isolation in ("auto", "none"):
        event = world.command("cat their", world.settings(isolation=isolation))
        assert event.verdict == "could_not_run" and f"their -> {world.root}/a.txt" in event.reason

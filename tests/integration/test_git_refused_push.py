"""A push of an agent: refused inside the sandbox, and by the environment without one."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from git_world import BRANCH, World, git, make_world
from ostler.git.private.programs import PUSH_REFUSED
from ostler.git.private.unsandboxed import refuse_push_variables
from ostler.git.repository import Worktree
from private_git_world import Inside, needs_bubblewrap

ADDRESSES = {
    "http": "https://user:secret@example.org/x.git",
    "scp": "git@example.org:x.git",
    "ssh": "ssh://git@example.org:2222/x.git",
    "local": "../origin.git",
}
PUSHES = ("git push origin HEAD:main", "git push --no-verify origin HEAD", "git push --mirror origin")


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = make_world(tmp_path)
    git(tmp_path, "clone", "-q", "--bare", str(world.project), "origin.git")
    return world


def run(cwd: Path, text: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", text], cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=20
    )


@needs_bubblewrap
@pytest.mark.parametrize("kind", ADDRESSES)
def test_every_push_is_refused_inside(world: World, kind: str):
    """Each kind of remote gives the same sentence, and no login is visible."""
    git(world.project, "remote", "add", "origin", ADDRESSES[kind])
    inside = Inside(world.prepare(), world.root / "private")
    for push in (*PUSHES, f"git push {ADDRESSES[kind]} HEAD:main"):
        done = inside.try_sh(push)
        assert done.returncode != 0
        assert PUSH_REFUSED in done.stderr, (push, done.stderr)
    shown = inside.sh("git remote -v; git config --list")
    assert "secret" not in shown


@needs_bubblewrap
def test_ssh_is_refused_inside_whatever_the_configuration(world: World):
    """An agent that deletes our settings reaches no ssh either: it starts the same program."""
    inside = Inside(world.prepare(), world.root / "private")
    ssh = "GIT_SSH_COMMAND=/run/ostler/bin/ostler-refused-ssh git -c core.sshCommand= "
    done = inside.try_sh(
        f"git config --remove-section url.ostler-refused::; {ssh} push git@example.org:x HEAD"
    )
    assert PUSH_REFUSED in done.stderr
    assert "http" in inside.try_sh(f"{ssh} fetch git@example.org:x").stderr


def test_a_refusal_is_reported_to_the_proxy(world: World):
    """The program posts the kind and the target, without a login."""
    received: list[tuple[str, object]] = []

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, json.loads(body)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    git(world.project, "remote", "add", "origin", ADDRESSES["http"])
    server = http.server.HTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        inside = Inside(world.prepare(), world.root / "private")
        programs = inside.place / "bin"
        env = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "http_proxy": f"http://127.0.0.1:{server.server_port}",
            "GIT_DIR": str(inside.place / "git"),
            "GIT_OBJECT_DIRECTORY": str(world.project / ".git" / "objects"),
        }
        run(world.path, "git push origin HEAD:main", env)
        run(world.path, f"git push {ADDRESSES['http']} HEAD:main", env)
        run(world.path, f"{programs}/ostler-refused-ssh -p 22 git@example.org \"git-receive-pack 'x'\"", env)
    finally:
        server.shutdown()
        server.server_close()
    assert received == [
        ("/.ostler/refusal", {"kind": "push", "target": target})
        for target in ("origin", "https://example.org/x.git", "git@example.org")
    ]


def agent_environment(world: World, worktree: Worktree) -> dict[str, str]:
    env = {"HOME": str(world.root), "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}
    more = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Kept"}
    return env | more | refuse_push_variables(worktree.repository, world.root / "guard", env | more)


@pytest.mark.parametrize("push_url", ["", "../origin.git", "file-url"])
def test_every_push_is_refused_without_a_sandbox(world: World, push_url: str):
    """The remote does not move, with and without a push address of its own; fetch works."""
    origin = world.root / "origin.git"
    git(world.project, "remote", "add", "origin", str(origin))
    if push_url:
        address = f"file://{origin}" if push_url == "file-url" else push_url
        git(world.project, "config", "remote.origin.pushurl", address)
    worktree = world.prepare()
    before = git(origin, "for-each-ref")
    env = agent_environment(world, worktree)
    run(worktree.path, "echo x > x; git add x; git -c user.name=a -c user.email=a@b commit -qm x", env)
    for push in (*PUSHES, f"git push {origin} HEAD:main"):
        done = run(worktree.path, push, env)
        assert done.returncode != 0
        assert PUSH_REFUSED in done.stderr, (push, done.stderr)
    assert git(origin, "for-each-ref") == before
    assert run(worktree.path, "git fetch -q origin", env).returncode == 0
    assert run(worktree.path, "git config user.name", env).stdout == "Kept\n"
    plain = {name: value for name, value in env.items() if not name.startswith("GIT_CONFIG")}
    assert run(worktree.path, f"git push -q {origin} HEAD:main", plain).returncode == 0  # the control


def test_other_repositories_are_not_affected(world: World):
    """Tests of a project that push between repositories of their own work, and hooks of the user run."""
    hook = world.project / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho $0 > {world.root}/ran\n")
    hook.chmod(0o755)
    worktree = world.prepare()
    env = agent_environment(world, worktree)
    script = f"git init -q {world.root}/t; cd {world.root}/t; git -c user.name=a -c user.email=a@b commit -q"
    done = run(
        worktree.path, f"{script} --allow-empty -m x && git push -q ../origin.git HEAD:refs/heads/t", env
    )
    assert done.returncode == 0, done.stderr
    assert not (world.root / "ran").exists()
    commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"
    assert run(worktree.path, commit, env).returncode == 0
    assert (world.root / "ran").read_text() == f"{hook}\n"
    assert git(world.project, "log", "-1", "--format=%s", BRANCH) == "x"


def test_a_push_from_a_submodule_is_refused(world: World):
    """The settings apply to the git directories of submodules too, and to a path with special characters."""
    project = world.project.rename(world.root / "pro[j]ect *")
    world.project = project
    allow = ("-c", "protocol.file.allow=always")
    git(project, *allow, "submodule", "add", "-q", str(world.root / "origin.git"), "lib")
    git(project, "commit", "-qm", "lib")
    worktree = world.prepare()
    git(worktree.path, *allow, "submodule", "update", "-q", "--init")
    env = agent_environment(world, worktree)
    for directory in (worktree.path / "lib", worktree.path):
        done = run(directory, f"git push {world.root}/origin.git HEAD:refs/heads/x", env)
        assert PUSH_REFUSED in done.stderr, done

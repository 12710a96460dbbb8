"""Remotes are used with the user's configuration, and without that of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_world import git
from ostler.errors import Code, GitError
from ostler.git.publish.push import fetch_commit, push_branch, read_remote_branches
from ostler.git.publish.remote import Remote
from ostler.git.publish.transport import resolve_remote_url
from publish_world import ADDRESS, PublishWorld


@pytest.fixture
def world(tmp_path: Path) -> PublishWorld:
    return PublishWorld(tmp_path)


def test_the_users_insteadof_counts(world: PublishWorld):
    """The address is GitHub's, the push goes to the address in the user's configuration."""
    assert world.remote.url == ADDRESS
    assert resolve_remote_url(world.repository, world.remote) == str(world.bare)
    push_branch(world.work({"mine.txt": "mine"}), world.remote, "main")
    assert world.there()


def test_the_repositorys_insteadof_does_not(world: PublishWorld):
    """An agent that redirects the address in the repository's configuration gets no push."""
    evil = world.root / "evil.git"
    git(world.root, "init", "-q", "--bare", str(evil))
    git(world.project, "config", f"url.{evil}.insteadOf", "http://github.localhost/acme/")
    push_branch(world.work({"mine.txt": "mine"}), world.remote, "main")
    assert world.there()
    assert git(evil, "for-each-ref") == ""


@pytest.mark.parametrize("key", ["url", "pushurl"])
@pytest.mark.parametrize(
    "where", ["evil.git", ".git/evil.git", "./.ostler/worktrees/fix-login-ab12/evil.git"]
)
def test_a_remote_inside_the_project_is_refused(world: PublishWorld, key: str, where: str):
    """An agent's own bare repository has hooks that would run here: nothing is pushed there."""
    worktree = world.work({"mine.txt": "mine"})
    canary = world.root / "canary"
    evil = world.project / where
    git(world.root, "init", "-q", "--bare", str(evil))
    (evil / "hooks").mkdir(exist_ok=True)
    (evil / "hooks/pre-receive").write_text(f'#!/bin/sh\n: > "{canary}"\n')
    (evil / "hooks/pre-receive").chmod(0o755)
    for address in (where, str(evil), f"file://{evil}"):
        git(world.project, "config", f"remote.origin.{key}", address)
        with pytest.raises(GitError, match="inside the project") as caught:
            push_branch(worktree, world.remote, "main")
        assert caught.value.code is Code.PUBLISH_FAILED
    assert not canary.exists()


@pytest.mark.parametrize("address", ["ext::sh -c 'touch {canary}'", "fd::3", "nonsense::x"])
def test_addresses_that_run_programs_are_refused(world: PublishWorld, address: str):
    """Only https, ssh, git and paths are allowed."""
    worktree = world.work({"mine.txt": "mine"})
    canary = world.root / "canary"
    with pytest.raises(GitError, match="a URL of an unsupported kind"):
        read_remote_branches(worktree, Remote("origin", address.format(canary=canary)), "main")
    assert not canary.exists()


def test_a_relative_address_is_relative_to_the_checkout(world: PublishWorld):
    """As in git itself."""
    worktree = world.work({"mine.txt": "mine"})
    assert read_remote_branches(worktree, Remote("origin", "../remote.git"), "main")


@pytest.mark.parametrize("name", ['with "quotes"', "back\\slash", "a = b # c", "new\nline"])
def test_an_address_of_any_characters(world: PublishWorld, name: str):
    """Quotes, backslashes and comment signs are literal parts of the address."""
    worktree = world.work({"mine.txt": "mine"})
    place = world.root / name
    world.bare.rename(place)
    assert read_remote_branches(worktree, Remote("origin", str(place)), "main")


def test_a_credential_helper_of_the_users_is_asked(world: PublishWorld, tmp_path: Path):
    """Publishing reads the user's configuration: its helper runs, one of the repository does not."""
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    seen: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    for place, name in (("--global", "users"), ("--local", "planted")):
        script = f"!f() {{ : > {tmp_path / name}; echo username=una; echo password={name}; }}; f"
        git(world.project, "config", place, "credential.helper", script)
    worktree = world.work({"mine.txt": "mine"})
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        remote = Remote("origin", f"http://127.0.0.1:{server.server_address[1]}/a.git")
        with pytest.raises(GitError, match="did not accept your login") as caught:
            read_remote_branches(worktree, remote, "main")
        server.shutdown()
    assert (tmp_path / "users").exists()
    assert not (tmp_path / "planted").exists()
    assert any(seen)
    assert caught.value.hint == "log in so that git ls-remote origin works without a prompt"


def test_a_shallow_clone(world: PublishWorld):
    """V5: it fetches and pushes, and gets the objects that are outside its history."""
    world.commit({"a.txt": "two\n"})
    git(world.project, "push", "-q", "origin", "main")
    git(world.bare, "repack", "-q", "-a", "-d", "-b")
    world.project = world.root / "shallow"
    git(world.root, "clone", "-q", "--depth=1", f"file://{world.bare}", str(world.project))
    git(world.project, "config", "user.name", "Una User")
    git(world.project, "config", "user.email", "una@example.org")
    worktree = world.work({"mine.txt": "mine"})
    onto = world.others_push({"a.txt": "one\n"})
    fetch_commit(worktree, world.remote, "main", onto)
    assert git(world.project, "show", f"{onto}:a.txt") == "one"
    assert push_branch(worktree, world.remote, "main").commit == world.there()


def test_a_repository_of_the_other_hash(tmp_path: Path):
    """A SHA-256 repository is published like any other."""
    world = PublishWorld.__new__(PublishWorld)
    world.root, world.project, world.bare = tmp_path, tmp_path / "project", tmp_path / "remote.git"
    for place, bare in ((world.project, ()), (world.bare, ("--bare",))):
        git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256", *bare, str(place))
    git(world.project, "config", "user.name", "Una User")
    git(world.project, "config", "user.email", "una@example.org")
    world.commit({"a.txt": "one\n", ".gitignore": ".ostler/\n"})
    git(world.project, "remote", "add", "origin", str(world.bare))
    worktree = world.work({"mine.txt": "mine"})
    assert len(push_branch(worktree, world.remote, "main").commit) == 64
    assert world.there()

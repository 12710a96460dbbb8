"""The remote repository of a cluster: a bare repository behind `git daemon`, and a fake GitHub."""

from __future__ import annotations

import subprocess
from pathlib import Path

from servers.program import ServerProgram, accepts_connections, find_free_ports

from cluster.evidence import RefUpdate
from cluster.namespaces import GATEWAY
from ostler.testing.fake_github import FakeGitHub

NAME = "acme/app"
_HOOK = """#!/bin/sh
while read -r old new ref; do echo "$ref $old $new" >> "{log}"; done
"""


class Remote:
    """A repository on the network of the cluster; every update of a reference is in its log."""

    def __init__(self, directory: Path) -> None:
        self.bare = directory / "app.git"
        self._log = directory / "updates.txt"
        directory.mkdir(parents=True)
        self.git("init", "-q", "--bare", "-b", "main", str(self.bare))
        hook = self.bare / "hooks" / "post-receive"
        hook.write_text(_HOOK.format(log=self._log))
        hook.chmod(0o755)
        self._log.touch()
        (port,) = find_free_ports(1, GATEWAY)
        self.address = f"git://{GATEWAY}:{port}/app.git"
        options = ("--reuseaddr", "--export-all", "--enable=receive-pack", "--max-connections=0")
        where = (f"--listen={GATEWAY}", f"--port={port}", f"--base-path={directory}", str(directory))
        self.program = ServerProgram(
            ["git", "daemon", *options, *where],
            directory / "git.log",
            lambda: accepts_connections(GATEWAY, port),
        )
        self.github = FakeGitHub(NAME, self.bare, host=GATEWAY)

    def start(self) -> None:
        self.program.start()
        self.github.start()

    def close(self) -> None:
        self.github.close()
        self.program.stop()

    def git(self, *args: str) -> str:
        place = ("-C", str(self.bare)) if self.bare.exists() else ()
        done = subprocess.run(["git", *place, *args], capture_output=True, text=True, check=True)
        return done.stdout

    def updates(self) -> list[RefUpdate]:
        """Return every update of a reference, oldest first."""
        return [RefUpdate(*line.split()) for line in self._log.read_text().splitlines()]

    def history(self, branch: str) -> list[str]:
        """Return the commits of a branch; none if it does not exist."""
        found = self.git("for-each-ref", "--format=%(refname)", f"refs/heads/{branch}")
        return self.git("rev-list", found.strip()).splitlines() if found else []

    def files(self, branch: str) -> dict[str, str]:
        """Return the text files of a branch."""
        if not self.history(branch):
            return {}
        names = self.git("ls-tree", "-r", "--name-only", branch).splitlines()
        return {name: self.git("show", f"{branch}:{name}") for name in names if name.endswith(".txt")}

"""A project with canaries around it, whose agent tries to leave its sandbox."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import ostler

ESCAPES = Path(__file__).with_name("escapes")
SECRET = "canary-of-the-host"
VALUE = "canary-of-the-environment"
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
SETTINGS = """[run]
executor = "probe"

[executors.probe]
type = "command"
command = "{agent}/probe"

[phases.plans]
small = ["implement", "test"]

[retry]
max_retries = 0
"""
# The first start of a task plants links for the next one; the second start makes the attempts.
AGENT = """#!/bin/sh
if [ ! -e "$HOME/.first" ]; then
    : > "$HOME/.first"
    exec {python} -I {agent}/plant.py {facts} first
fi
exec {python} -I {agent}/probe.py {facts} escapes.json
"""


class EscapeWorld:
    """Files, services and processes of a host, and a project in which a task runs."""

    def __init__(self, directory: Path, user: int | None = None) -> None:
        self.directory, self.user = directory, user
        self.home, self.other = directory / "home", directory / "home" / "other"
        self.root, self.agent = directory / "home" / "project", directory / "agent"
        self.trap, self.scratch = directory / "trap", directory / "scratch"
        self._opened = ExitStack()
        self._create_files()
        self._create_repository()
        self._give_to_user()
        self.facts = self._create_facts()
        self._install_agent()
        self._give_to_user()

    def _create_files(self) -> None:
        for name in (".ssh/id_ed25519", "notes.txt", ".config/gh/hosts.yml", "other/secret.txt"):
            _write(self.home / name, SECRET)
        _write(self.home / ".local/bin/tool", "#!/bin/sh\n", 0o755)
        _write(self.home / ".venv/bin/python", "", 0o755)
        _write(self.directory / "tmp/file", SECRET)
        _write(self.trap / "file", SECRET)
        for one in (self.trap / "folder", self.scratch):
            one.mkdir()

    def _create_repository(self) -> None:
        _write(self.root / "README.md", "# Sample\n")
        _write(self.root / ".claude/settings.json", '{"model": "pinned"}')
        _write(self.root / ".gitignore", ".env\n.venv\n")
        _write(self.root / "ostler.toml", SETTINGS.format(agent=self.agent))
        for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "first")):
            self.git(*args)
        self.git("config", "remote.origin.url", f"https://{SECRET}@example.org/x.git")
        _write(self.root / ".env", SECRET)
        _write(self.root / ".venv/bin/tool", "#!/bin/sh\n", 0o755)
        _write(self.root / ".ostler/worktrees/task-of-another/work.txt", SECRET)

    def _give_to_user(self) -> None:
        if self.user is not None:
            subprocess.run(["chown", "-R", f"{self.user}:{self.user}", str(self.directory)], check=True)

    def git(self, *args: str) -> str:
        safe = ("-c", f"safe.directory={self.root}")
        done = subprocess.run([*GIT, *safe, *args], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def _create_facts(self) -> dict[str, Any]:
        tcp, tcp6 = self._serve(socket.AF_INET, ("0.0.0.0", 0)), self._serve(socket.AF_INET6, ("::1", 0))
        agent, abstract = self.directory / "agent.sock", f"ostler-canary-{os.getpid()}"
        self._serve(socket.AF_UNIX, str(agent))
        self._serve(socket.AF_UNIX, f"\0{abstract}")
        agent.chmod(0o777)
        argument = "canary-argument keeper.forker"
        canary = subprocess.Popen(
            [argument, "600"],
            executable="/bin/sleep",
            env={"CANARY": VALUE},
            cwd=self.other,
            user=self.user,
            group=self.user,
        )
        self._opened.callback(canary.wait)
        self._opened.callback(canary.kill)
        return {
            "inside": True, "root": str(self.root), "home": str(self.home), "other": str(self.other),
            "tmp": str(self.directory / "tmp"), "tmp_file": str(self.directory / "tmp/file"),
            "journal": str(self.root / ".git/ostler/ostler.db"),
            "tasks": str(self.root / ".git/ostler/tasks"),
            "other_worktree": str(self.root / ".ostler/worktrees/task-of-another"),
            "commit": self.git("rev-parse", "HEAD"), "scratch": ".", "trap": str(self.trap),
            "interpreter_module": os.path.realpath(os.__file__), "package": str(Path(ostler.__file__).parent),
            "tcp_port": tcp[1], "tcp6_port": tcp6[1], "udp_port": self._answer_datagrams(),
            "address": _find_address(), "abstract": abstract, "ssh_agent": str(agent),
            "host_pid": canary.pid, "canary_value": VALUE, "canary_argument": "canary-argument",
            "daemon_name": f"daemon-{os.getpid()}",
        }  # fmt: skip

    def _serve(self, family: int, address: Any) -> Any:
        server = self._opened.enter_context(socket.socket(family))
        server.bind(address)
        server.listen(64)
        return server.getsockname()

    def _answer_datagrams(self) -> int:
        server = self._opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        server.bind(("127.0.0.1", 0))
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        return server.getsockname()[1]

    def _install_agent(self) -> None:
        shutil.copytree(ESCAPES, self.agent, ignore=shutil.ignore_patterns("__pycache__"))
        facts = self.agent / "facts.json"
        facts.write_text(json.dumps(self.facts))
        python = os.path.realpath(sys.executable)
        text = AGENT.format(python=python, agent=self.agent, facts=facts)
        _write(self.agent / "probe", text, 0o755)

    @property
    def environ(self) -> dict[str, str]:
        """The variables of the run, with some that must not be visible inside."""
        path = f"{self.root}/.venv/bin:{self.home}/.local/bin:{os.environ['PATH']}"
        return {
            "PATH": path, "HOME": str(self.home), "CANARY": VALUE, "AWS_SECRET_ACCESS_KEY": VALUE,
            "GITHUB_TOKEN": VALUE, "SSH_AUTH_SOCK": self.facts["ssh_agent"],
            "VIRTUAL_ENV": f"{self.root}/.venv",
            "XDG_RUNTIME_DIR": str(self.directory), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={VALUE}",
        }  # fmt: skip

    def ostler(
        self, *args: str, prefix: tuple[str, ...] = (), **environ: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, sys.executable, "-m", "ostler", *args],
            cwd=self.root,
            env=self.environ
            | {"OSTLER_SANDBOX__TIER": "bubblewrap", "OSTLER_RUN__GRACE_SECONDS": "1"}
            | environ,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def attack(self, prefix: tuple[str, ...] = (), **environ: str) -> dict[str, str]:
        """Run a task whose agent makes all attempts; return what it found for each."""
        done = self.ostler("run", "-p", "Leave the sandbox", "--weight", "small", prefix=prefix, **environ)
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        (branch,) = self.git("for-each-ref", "--format=%(refname)", "refs/heads/ostler").splitlines()
        return json.loads(self.git("show", f"{branch}:escapes.json"))

    def attack_without_sandbox(self, prefix: tuple[str, ...] = ()) -> dict[str, str]:
        """Make the attempts outside, in namespaces where they are harmless if this is root."""
        facts, results = self.directory / "facts.json", self.directory / "control.json"
        facts.write_text(json.dumps(self.facts | {"inside": False, "scratch": str(self.scratch)}))
        with (self.directory / "tmp/file").open() as inherited:
            os.set_inheritable(inherited.fileno(), True)
            python = (os.path.realpath(sys.executable), "-I")
            subprocess.run(
                [*prefix, *python, str(self.agent / "probe.py"), str(facts), str(results)],
                env=self.environ,
                cwd=self.scratch,
                check=True,
                timeout=100,
                pass_fds=(inherited.fileno(),),
            )
        return json.loads(results.read_text())

    def find_changes(self) -> list[str]:
        """Return what attempts changed outside."""
        planted = {
            "file in another project": self.other / "planted",
            "link in another project": self.other / "linked",
            "hook": self.root / ".git/hooks/post-checkout",
            "file in the home directory": self.home / ".bashrc-planted",
            "file in tmp": self.directory / "tmp/planted",
            "branch": self.root / ".git/refs/heads/planted",
        }
        found = [name for name, path in planted.items() if path.exists()]
        if (self.root / "README.md").read_text() != "# Sample\n":
            found.append("checkout")
        if (self.root / ".claude/settings.json").read_text() != '{"model": "pinned"}':
            found.append("configuration")
        return found

    def find_trapped(self) -> list[str]:
        """Return what the host changed through links that the agent left."""
        found = [str(one) for one in self.trap.rglob("*") if one.name not in ("file", "folder")]
        if (self.trap / "file").read_text() != SECRET:
            found.append("file")
        return found

    def close(self) -> None:
        self._opened.close()


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _answer(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            data, peer = server.recvfrom(64)
            server.sendto(data, peer)


def _find_address() -> str:
    """Return an address of this machine that is not loopback, or loopback without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]
    return "127.0.0.1"

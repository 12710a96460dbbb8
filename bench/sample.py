"""A project to measure in: a repository with one commit, and an agent that answers at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from resource import struct_rusage

AGENT = """#!/bin/sh
# Answers at once in the format of claude. Its last call writes a file to commit and reports completion.
read calls < {count}
calls=$((calls + 1))
echo $calls > {count}
text=working
[ $calls -lt {last} ] || {{ echo hello > hello.txt; text='<phase_complete>true</phase_complete>'; }}
echo '{{"type":"system","subtype":"init","session_id":"bench","model":"none"}}'
echo '{{"type":"result","subtype":"success","is_error":false,"session_id":"bench","result":"'"$text"'"}}'
"""
SETTINGS = """[run]
executor = "mine"

[executors.mine]
type = "{type}"
command = "{agent}"

[phases.plans]
medium = ["implement"]

[sandbox]
tier = "supervised"  # P15 measures the sandbox

[host]
start_stagger_seconds = 0  # it spreads the starts of real agents and only delays an instant one
"""
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


class Sample:
    def __init__(self, place: Path, type: str = "claude") -> None:
        self.place = place
        self.root = place / "project"
        self.agent = place / "agent"
        self._count = place / "calls"
        self.root.mkdir()
        (self.root / "ostler.toml").write_text(SETTINGS.format(type=type, agent=self.agent))
        for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "first")):
            subprocess.run([*GIT, *command], cwd=self.root, check=True, capture_output=True)
        self.finish_at(1)

    def finish_at(self, call: int) -> None:
        """Let a task complete with this call from now on."""
        self._count.write_text("0\n")
        self.agent.write_text(AGENT.format(count=self._count, last=call))
        self.agent.chmod(0o755)

    @property
    def calls(self) -> int:
        """Return how often the agent was started since then."""
        return int(self._count.read_text())

    def ostler(self, *arguments: str) -> struct_rusage:
        """Run one ostler command to its end."""
        return self.run((str(Path(sys.executable).with_name("ostler")), *arguments), {})

    def run(self, argv: tuple[str, ...], environ: Mapping[str, str]) -> struct_rusage:
        """Run one program in the project to its end, without output; return its resource usage."""
        child = subprocess.Popen(
            argv,
            cwd=self.root,
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        return used

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.place)}

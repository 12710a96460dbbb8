"""A project to measure in: a repository with one commit, and an agent that answers at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from resource import struct_rusage

AGENT = """#!/bin/sh
# Answers at once in the format of claude. Its last call writes a file to commit and reports completion. It
# counts its calls in its home directory, which in a sandbox is that of its task. The same answer twice would
# block the task.
calls=0
[ ! -e {count} ] || read calls < {count}
calls=$((calls + 1))
echo $calls > {count}
text="working on part $calls"
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
tier = "{tier}"

[host]
start_stagger_seconds = 0  # it spreads the starts of real agents and only delays an instant one
"""
COUNT = "bench-calls"
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


class Sample:
    def __init__(self, place: Path, type: str = "claude", tier: str = "supervised") -> None:
        self.place = place
        self.root = place / "project"
        self.agent = place / "agent"
        self.root.mkdir(parents=True)
        (self.root / "ostler.toml").write_text(SETTINGS.format(type=type, agent=self.agent, tier=tier))
        for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "first")):
            subprocess.run([*GIT, *command], cwd=self.root, check=True, capture_output=True)
        self.finish_at(1)

    def finish_at(self, call: int) -> None:
        """Let a task complete with this call from now on."""
        (self.place / COUNT).unlink(missing_ok=True)
        self.agent.write_text(AGENT.format(count=f"$HOME/{COUNT}", last=call))
        self.agent.chmod(0o755)

    @property
    def calls(self) -> int:
        """Return how many attempts the newest task had."""
        command = (str(Path(sys.executable).with_name("ostler")), "events", "--json")
        listed = subprocess.run(command, cwd=self.root, env=self.environ, check=True, capture_output=True)
        kinds = [json.loads(line)["type"] for line in listed.stdout.splitlines()]
        newest = len(kinds) - kinds[::-1].index("task_created")
        return kinds[newest:].count("attempt_ended")

    def ostler(self, *arguments: str) -> struct_rusage:
        """Run one ostler command to its end."""
        return self.run((str(Path(sys.executable).with_name("ostler")), *arguments), {})

    def cpu(self, *arguments: str) -> float:
        """Run one ostler command to its end; return its CPU seconds."""
        used = self.ostler(*arguments)
        return used.ru_utime + used.ru_stime

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

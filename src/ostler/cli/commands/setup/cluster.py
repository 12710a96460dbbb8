"""ostler cluster"""

from __future__ import annotations

import os
from pathlib import Path

import click
from msgspec import to_builtins

from ostler.cli.options import json_option
from ostler.cli.terminal.check_lines import format_checks
from ostler.cli.terminal.output import print_json, print_text
from ostler.project.cluster.doctor import run_cluster_checks


@click.group("cluster")
def command() -> None:
    """Check the servers and workers that several machines share."""


@command.command("doctor")
@json_option
def doctor(as_json: bool) -> int:
    """Check PostgreSQL, Temporal, the workers, the blobs and the git remote from this machine.

    It writes a test blob and pushes a hidden ref, and deletes both. Exits with 1 when a required check
    fails, and with 2 in a project of one machine. Run it on each machine: each may be cut off alone.
    """
    checks = run_cluster_checks(Path.cwd(), os.environ)
    healthy = all(check.ok for check in checks if check.required)
    if as_json:
        print_json({"schema": "ostler.cluster/1", "ok": healthy, "checks": to_builtins(checks)})
    else:
        print_text("\n".join(format_checks(checks)))
    return 0 if healthy else 1

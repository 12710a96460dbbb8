"""ostler testing"""

from __future__ import annotations

import click

from ostler.cli.commands.setup.testing.fake_agent import fake_agent
from ostler.cli.commands.setup.testing.serve_github import serve_github
from ostler.cli.commands.setup.testing.serve_model import serve_model


@click.group("testing", commands=[serve_model, serve_github, fake_agent])
def command() -> None:
    """Start a fake model, GitHub or agent, to test without an account.

    They listen on this machine only. --list prints the faults that each of them has.
    """

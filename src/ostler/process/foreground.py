"""A program that the person uses directly in this terminal, such as their editor."""

from __future__ import annotations

import subprocess


def run_in_foreground(argv: list[str]) -> int:
    """Hand the terminal over until it ends; 127 when it cannot be started."""
    try:
        return subprocess.run(argv, check=False).returncode
    except OSError:
        return 127

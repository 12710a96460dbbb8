"""A git repository to try the examples on: no account and no agent program is needed."""

import subprocess
from pathlib import Path

GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def make_repository(path: Path, **files: str) -> Path:
    """Create a repository with these files in one commit."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in {"README.md": "# Sample\n", **files}.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "first")):
        subprocess.run([*GIT, *args], cwd=path, check=True)
    return path

"""Repositories that many tests begin with: git makes each one once per process, and tests get copies."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

_made: dict[object, Path] = {}
_numbers = count()


def copy_template(key: object, make: Callable[[Path], None], target: Path) -> None:
    """Fill a directory with what `make` puts into an empty one; `make` runs once for each key."""
    if key not in _made:
        place = _home() / str(next(_numbers))
        place.mkdir()
        make(place)
        for sample in place.glob("**/hooks/*.sample"):
            sample.unlink()
        _made[key] = place
    shutil.copytree(_made[key], target, symlinks=True, dirs_exist_ok=True)
    for index in target.glob("**/.git/index"):
        # The index has the inodes of the template's files.
        subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=index.parents[1], check=True)


@cache
def _home() -> Path:
    home = tempfile.mkdtemp(prefix="ostler-templates-")
    Path(home).chmod(0o755)  # some tests copy as another user
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return Path(home)

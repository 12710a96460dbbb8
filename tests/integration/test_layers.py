"""The import layers hold, and the linter that checks them can fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT), "--config", str(root / ".importlinter"), "--no-cache"]
    return subprocess.run(
        command,
        cwd=root,
        env={"PYTHONPATH": str(root / "src"), "PATH": "", "HOME": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("model/task.py", "import ostler.store.journal", "Folder order is flow order"),
        ("engine/core/decide.py", "import time", "The core is pure"),
        ("engine/task_queue.py", "import asyncio", "The core is pure"),
        ("executors/command.py", "import ostler.git.run.command", "Executors know only programs and calls"),
        ("views/task.py", "import ostler.calls.models.retry", "Views only read"),
        ("web/site.py", "import ostler.store.sqlite.journal", "Only the store knows its databases"),
        ("git/run/command.py", "import subprocess", "One place starts programs"),
    ],
)
@pytest.mark.sampled(2)
def test_a_planted_import_breaks_its_contract(tmp_path: Path, module: str, line: str, contract: str) -> None:
    """Each rule is tested with one forbidden import in a copy of the package."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    path = tmp_path / "src" / "ostler" / module
    path.write_text(path.read_text() + f"\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode != 0, done.stdout
    assert f"{contract} BROKEN" in done.stdout, done.stdout


def test_a_new_folder_must_take_its_place(tmp_path: Path) -> None:
    """A package that is in no layer is refused."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    (tmp_path / "src" / "ostler" / "utils").mkdir()
    (tmp_path / "src" / "ostler" / "utils" / "__init__.py").touch()
    assert lint(tmp_path).returncode != 0

"""A Python project that is installed in editable mode from the user's checkout, in many ways."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Literal

from gate_world import GateWorld
from git_world import git

Layout = Literal["src", "flat"]
# develop: setup.py develop of setuptools; path: a .pth file, as hatchling, flit and poetry write;
# finder: the finder of setuptools; first: a finder before all others; strict: links to single files in
# build/; symlink: flit install --symlink
Kind = Literal["develop", "path", "finder", "first", "strict", "symlink"]
PACKAGE = {"__init__.py": "", "sums.py": "def add(a, b):\n    return a + b\n", "spare.py": "VALUE = 1\n"}
TESTS = {
    "tests/test_sums.py": "from shop.sums import add\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "tests/test_spare.py": "from shop.spare import VALUE\n\ndef test_value():\n    assert VALUE == 1\n",
}
ADDED_TEST = {
    "tests/test_added.py": "from shop.added import TWO\n\ndef test_two():\n    assert TWO == 2\n",
}
# Without their metadata, so that pytest loads no plugins.
PROGRAMS = (
    "pytest", "_pytest", "py.py", "pluggy", "iniconfig", "packaging", "pygments", "setuptools",
    "pkg_resources", "_distutils_hack",
)  # fmt: skip
SITE = Path(sysconfig.get_paths()["purelib"])
IGNORED = ".venv/\n.ostler/\nbuild/\n*.egg-info/\n__pycache__/\n"
# An in-tree backend: the build needs no network, and pip records the installation as for any other.
BACKEND = """
import json, pathlib, zipfile
NAME, FILES = "shop-1.0", json.loads(pathlib.Path("backend.json").read_text())

def build_editable(directory, settings=None, metadata=None):
    name = NAME + "-py3-none-any.whl"
    info = NAME + ".dist-info/"
    with zipfile.ZipFile(pathlib.Path(directory) / name, "w") as wheel:
        for path, text in FILES.items():
            wheel.writestr(path, text)
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: shop\\nVersion: 1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return name

build_wheel = build_editable
"""
FIRST = """
import sys
from importlib.machinery import PathFinder

class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return PathFinder.find_spec(name, [{root!r}]) if name == "shop" else None

sys.meta_path.insert(0, Finder)
"""


class EditableWorld:
    """A task at its gate, in a project whose environment `.venv` has it installed in editable mode."""

    def __init__(self, directory: Path, kind: Kind, layout: Layout, place: Path | None = None) -> None:
        self.package = "src/shop" if layout == "src" else "shop"
        files = {f"{self.package}/{name}": text for name, text in PACKAGE.items()}
        files |= TESTS | {
            ".gitignore": IGNORED,
            "setup.py": self._setup(),
            "pyproject.toml": self._manifest(kind),
        }
        files["Makefile"] = "test:\n\tpython -m pytest -q tests\n"
        files["check.sh"] = "exec env -i PATH=/usr/bin:/bin .venv/bin/python -I -m pytest -q tests\n"
        self.gate = GateWorld(directory, files)
        self.root = self.gate.root
        self.environment = place or self.root / ".venv"
        self.site = make_environment(self.environment)
        self._install(kind)
        self.gate.environ = {
            **self.gate.environ,
            "PATH": f"{self.environment}/bin{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self.environment),
        }

    @property
    def import_root(self) -> Path:
        return (self.root / self.package).parent

    def commit(self, files: dict[str, str | None]) -> str:
        """Commit changes as an agent does: the user's checkout stays as it is. None deletes a file."""
        base = git(self.root, "rev-parse", "HEAD")
        for name, text in files.items():
            if text is None:
                (self.root / name).unlink()
            else:
                (self.root / name).write_text(text)
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "change")
        self.gate.commit = git(self.root, "rev-parse", "HEAD")
        git(self.root, "reset", "-q", "--hard", base)
        return self.gate.commit

    def _setup(self) -> str:
        where = "'': 'src'" if self.package.startswith("src") else ""
        return (
            "from setuptools import setup\n"
            f"setup(name='shop', version='1.0', packages=['shop'], package_dir={{{where}}})\n"
        )

    @staticmethod
    def _manifest(kind: Kind) -> str:
        name = '[project]\nname = "shop"\nversion = "1.0"\n'
        backend = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        return name if kind == "develop" else backend + name

    def _install(self, kind: Kind) -> None:
        if kind == "symlink":
            (self.site / "shop").symlink_to(self.root / self.package)
            return
        if kind not in ("develop", "path"):  # pip takes seconds
            for name, text in self._files(kind).items():
                (self.site / name).write_text(text)
            return
        backend, data = self.root / "backend.py", self.root / "backend.json"
        if kind != "develop":
            backend.write_text(BACKEND)
            data.write_text(json.dumps(self._files(kind)))
        if kind == "develop":
            run(
                [str(self.environment / "bin" / "python"), "setup.py", "-q", "develop", "--no-deps"],
                self.root,
            )
        else:
            run_pip(self.environment, "install", "-e", str(self.root))
        backend.unlink(missing_ok=True)
        data.unlink(missing_ok=True)

    def _files(self, kind: Kind) -> dict[str, str]:
        """Return the files that an installation of this kind writes to site-packages."""
        match kind:
            case "finder":
                from setuptools.command import editable_wheel  # pyright: ignore

                name = "__editable___shop_1_0_finder"
                text: str = editable_wheel._finder_template(name, {"shop": str(self.root / self.package)}, {})  # pyright: ignore
                return {f"{name}.py": text, "__editable__.shop-1.0.pth": f"import {name}; {name}.install()"}
            case "first":
                text = FIRST.format(root=str(self.import_root))
                return {"_shop_loader.py": text, "_shop.pth": "import _shop_loader\n"}
            case "strict":
                tree = self.root / "build" / "__editable__.shop-1.0"
                (tree / "shop").mkdir(parents=True)
                for name in PACKAGE:
                    (tree / "shop" / name).symlink_to(self.root / self.package / name)
                return {"__editable__.shop-1.0.pth": f"{tree}\n"}
            case _:
                return {"_shop.pth": f"{self.import_root}\n"}


def make_environment(place: Path) -> Path:
    """Make an environment with the pytest of this one, and return its site-packages."""
    venv.create(place, symlinks=True, with_pip=False)
    site = next((place / "lib").glob("python3*")) / "site-packages"
    for name in (*PROGRAMS, *(one.name for one in SITE.glob("setuptools-*.dist-info"))):
        (site / name).symlink_to(SITE / name)
    script = place / "bin" / "pytest"
    script.write_text(f"#!{place}/bin/python\nimport sys, pytest\nsys.exit(pytest.main())\n")
    script.chmod(0o755)
    return site


def run_pip(environment: Path, *args: str) -> None:
    """Run the pip of this environment on another one, without the network."""
    command = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), *args]
    options = ["--no-build-isolation", "--no-deps", "--no-index", "-q", "--disable-pip-version-check"]
    run([*command, *options], environment)


def run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr

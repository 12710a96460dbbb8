"""A Python project with a lockfile and a uv that installs one package; without namespaces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from editable_world import EditableWorld
from gate_world import GateWorld
from ostler.config.settings import SandboxSettings, Settings, WorkspaceSettings
from ostler.sandbox import bubblewrap, unshare
from wheels import make_wheel

# As uv sync does: an environment with the packages of the lockfile, without the project. It runs until the
# file `wait` is deleted.
UV = """#!/bin/sh
echo "$$ $*" >> {folder}/builds
python="$0"; for python in "$@"; do :; done
"$python" -m venv --without-pip "$UV_PROJECT_ENVIRONMENT" || exit 3
while test -e {folder}/wait; do sleep 0.05; done
grep -q broken uv.lock && echo "error: broken is not in the index\\nhint: none" >&2 && exit 2
"$python" -m zipfile -e {wheel} "$UV_PROJECT_ENVIRONMENT"/lib/python3*/site-packages
cd "$UV_PROJECT_ENVIRONMENT/bin"
printf '#!%s/bin/python\\nimport tiny\\ntiny.main()\\n' "$UV_PROJECT_ENVIRONMENT" > tiny
chmod +x tiny
"""


class EnvironmentWorld(EditableWorld):
    """The commit has a uv.lock; `shared` has the cache and the programs."""

    def __init__(self, directory: Path, shared: Path) -> None:
        super().__init__(directory, "finder", "src")
        self.shared = shared
        if not (shared / "bin").is_dir():
            (shared / "bin").mkdir(parents=True)
            wheel = make_wheel(shared / "wheels", "tiny", "VALUE = 1")
            (shared / "bin" / "uv").write_text(UV.format(folder=shared, wheel=wheel))
            (shared / "bin" / "uv").chmod(0o755)
        self.gate.environ |= cached_in(shared, self.gate.environ["PATH"])
        info = self.site / "shop-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[console_scripts]\nshop = shop.sums:add\n")
        (info / "direct_url.json").write_text(
            f'{{"url": "file://{self.root}", "dir_info": {{"editable": true}}}}'
        )
        program = self.environment / "bin" / "shop"
        program.write_text(f"#!{self.environment}/bin/python\nimport shop.sums\nprint(shop.sums.__file__)\n")
        program.chmod(0o755)
        self.commit({"uv.lock": "tiny 1.0\n"})

    @property
    def builds(self) -> list[str]:
        """One line for each run of uv: its process id and its arguments."""
        log = self.shared / "builds"
        return log.read_text().splitlines() if log.exists() else []


def cached_in(shared: Path, path: str) -> dict[str, str]:
    """Return variables for the cache and the programs in `shared`."""
    return {"XDG_CACHE_HOME": str(shared / "cache"), "PATH": f"{shared}/bin:{path}"}


def settings_of(link: tuple[str, ...] = (), **gates: Any) -> Settings:
    """Return settings whose gates have the variables of pip."""
    found = GateWorld.settings(WorkspaceSettings(link=link), **gates)
    return replace(found, sandbox=SandboxSettings(tier="supervised", env_allow=("PIP_*",)))


if __name__ == "__main__":  # a separate run of the gate of another process, for a test to kill
    bubblewrap.find_bubblewrap = lambda environ: None
    unshare.find_unshare = lambda environ: None
    directory, commit, command, environment = Path(sys.argv[1]), *sys.argv[2:5]
    again = GateWorld.reopen(directory)
    again.commit = commit
    again.environ |= cached_in(directory.parent / "shared", f"{environment}/bin:{again.environ['PATH']}")
    again.environ["VIRTUAL_ENV"] = environment
    event = again.command(command)
    print(event.verdict, event.check.isolation if event.check else "")

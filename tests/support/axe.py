"""axe-core, which finds what makes a page hard to use: a pinned version from npm, kept in a cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

# Read at import, as each test has its own home directory.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ostler" / "tests"
VERSION = "4.14.1"
SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
RUN = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  const why = (node) => [...node.any, ...node.all, ...node.none].map((one) => one.message).join("; ");
  const line = (id, node) => `${id}: ${node.target.join(" ")}: ${why(node)}`;
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => line(id, node)));
}"""


def find_violations(page: Page) -> list[str]:
    """Return what axe finds on a page, whose context needs `bypass_csp`."""
    page.add_script_tag(content=axe_source())
    return [str(text) for text in page.evaluate(RUN)]


def axe_source() -> str:
    """Return the program, downloaded first if it is missing."""
    path = CACHE / f"axe-core-{VERSION}.min.js"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "axe.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _download(path)
    text = path.read_bytes()
    assert hashlib.sha256(text).hexdigest() == SHA256, f"{path} is not axe-core {VERSION}: delete it"
    return text.decode()


def _download(path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as place:
        command = ["npm", "pack", "--silent", "--pack-destination", place, f"axe-core@{VERSION}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"axe-core cannot be downloaded: {done.stderr[-500:]}"
        pack: Any = next(Path(place).glob("*.tgz"))
        shutil.unpack_archive(pack, place, filter="data")
        (Path(place) / "package" / "axe.min.js").replace(path)

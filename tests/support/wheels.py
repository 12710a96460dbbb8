"""Tiny packages on disk, for pip and npm without a network."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path


def make_wheel(folder: Path, name: str, module: str, version: str = "1.0") -> Path:
    """Write a wheel with one module, and a program of the same name that prints the module's VALUE."""
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", f"{module}\ndef main():\n    print(VALUE)\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/entry_points.txt", f"[console_scripts]\n{name} = {name}:main\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def make_npm_archive(path: Path, name: str, script: str) -> None:
    """Write a package as `npm pack` does."""
    manifest = {"name": name, "version": "1.0.0", "main": "index.js"}
    with tarfile.open(path, "w:gz") as archive:
        for file, text in (("package.json", json.dumps(manifest)), ("index.js", script)):
            entry = tarfile.TarInfo(f"package/{file}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))

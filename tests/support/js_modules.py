"""Calls functions of the dashboard's pure modules in Node, without a browser."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import ostler.web

JS = Path(ostler.web.__file__).parent / "static" / "js"


def evaluate(script: str, *args: object) -> Any:
    """Return what the body of an async function returns; `load(path)` imports a module."""
    program = (
        f"const load = (name) => import({json.dumps(JS.as_uri())} + '/' + name);"
        f"const args = {json.dumps(args)};"
        f"const result = await (async () => {{ {script} }})();"
        "process.stdout.write(JSON.stringify(result ?? null));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-"],
        input=program.encode(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def call(module: str, name: str, *args: object) -> Any:
    """Return what a function of a module returns."""
    script = "return (await load(args[0]))[args[1]](...args[2]);"
    return evaluate(script, module, name, args)

"""Checks that the programs and packages which scripts of skills need are installed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ostler.engine.steps.workspaces.box_files import find_project_programs
from ostler.process.tool import ToolTimeout, run_tool
from ostler.skills.availability import Script
from ostler.skills.finding import LintFinding

_TIMEOUT_SECONDS = 20.0
# Prints which of the modules that are passed as arguments cannot be imported.
_FIND = """\
import importlib.util, json, sys
known = set(sys.builtin_module_names) | set(getattr(sys, "stdlib_module_names", ()))
others = [name for name in sys.argv[1:] if name not in known]
print(json.dumps([name for name in others if importlib.util.find_spec(name) is None]))
"""


def check_scripts(scripts: Iterable[Script], root: Path, environ: Mapping[str, str]) -> Iterator[LintFinding]:
    """Yield an interpreter that is not installed, and each package that it cannot import."""
    found = list(scripts)
    path = os.pathsep.join((*map(str, find_project_programs(root)), environ.get("PATH", os.defpath)))
    missing = {name for name in {one.interpreter for one in found} if shutil.which(name, path=path) is None}
    modules = {
        name: _find_missing_modules(name, found, root, {**environ, "PATH": path})
        for name in {one.interpreter for one in found} - missing
    }
    for one in found:
        if one.interpreter in missing:
            yield LintFinding(one.path, 1, f"needs {one.interpreter}, which is not installed", 1)
            continue
        for module, line in one.imports.items():
            if module in modules[one.interpreter]:
                yield LintFinding(one.path, line, _explain_module(module, one.interpreter), 1)


def _explain_module(module: str, interpreter: str) -> str:
    return f"the module {module} is not installed for {interpreter}; install it in .venv of the project"


def _find_missing_modules(
    interpreter: str, scripts: list[Script], root: Path, environ: Mapping[str, str]
) -> list[str]:
    """Return the modules that an interpreter cannot import; it does not execute them."""
    names = sorted({name for one in scripts if one.interpreter == interpreter for name in one.imports})
    program = shutil.which(interpreter, path=environ["PATH"])
    if not names or program is None:
        return []
    try:
        # -I: no file of the project is imported instead.
        done = run_tool(
            [program, "-I", "-c", _FIND, *names],
            env=dict(environ),
            cwd=str(root),
            timeout_seconds=_TIMEOUT_SECONDS,
        )
        return json.loads(done.stdout) if done.status == 0 else []
    except (OSError, ToolTimeout, ValueError):
        return []

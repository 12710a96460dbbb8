"""A guard in each Python process, for machines without namespaces; weaker than a mount.

It removes finders and paths that lead to the user's checkout, and records each file that is opened there.
Python programs that ignore the environment (python -I) do not load it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from ostler.sandbox.checkout import Checkout

NAME: Literal["guard"] = "guard"
_DIRECTORY = "guard"
_LOG = "guard.log"
_LOADED = "loaded"
_MODULE = """
import os, sys
_ROOTS, _ALLOWED, _TREE, _LOG = {roots}, {allowed}, {tree}, {log}

def _is_foreign(path):
    # Links in the checkout are those of workspace.link: the commit has none to the user's checkout.
    if _is_below(os.path.abspath(path), [_TREE]):
        return False
    path = os.path.realpath(path)
    return _is_below(path, _ROOTS) and not _is_below(path, _ALLOWED)

def _is_below(path, folders):
    return any((path + "/").startswith(folder + "/") for folder in folders)

def _record(text):
    number = os.open(_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(number, (text + "\\n").encode("utf-8", "replace"))
    os.close(number)

def _names_root(finder):
    name = getattr(finder, "__module__", "") or type(finder).__module__
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    if "site-packages" not in file:
        return False
    try:
        with open(file, "rb") as stream:
            content = stream.read()
    except OSError:
        return False
    if any(os.fsencode(root) in content for root in _ROOTS):
        return True
    import re
    paths = re.findall(rb"[\\x22'](/[^\\x22'\\r\\n\\0]+)[\\x22']", content)
    return any(_is_foreign(os.fsdecode(path)) for path in set(paths))

sys.meta_path[:] = [one for one in sys.meta_path if not _names_root(one)]
sys.path[:] = [one for one in sys.path if not one or not _is_foreign(one)]
_seen = set()

def _watch(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)):
        folder = os.path.dirname(os.fsdecode(args[0]))
        if folder not in _seen:
            _seen.add(folder)
            if _is_foreign(folder):
                _record(folder)

_record({loaded})
sys.addaudithook(_watch)
"""


def install_guard(checkout: Checkout, allowed: Iterable[Path]) -> Path:
    """Write the module, and return the directory that must be first in PYTHONPATH."""
    directory = checkout.private / _DIRECTORY
    directory.mkdir(exist_ok=True)
    text = _MODULE.format(
        roots=_encode((checkout.user, *checkout.others)),
        allowed=_encode((checkout.tree, *(one for one in allowed if not checkout.user.is_relative_to(one)))),
        tree=json.dumps(os.fspath(checkout.tree)),
        log=json.dumps(str(checkout.private / _LOG)),
        loaded=json.dumps(_LOADED),
    )
    (directory / "sitecustomize.py").write_text(text)
    return directory


def read_guard(checkout: Checkout, must_load: bool = True) -> str:
    """Return why the result does not count; empty if every guarded program used the checkout only.

    `must_load`: a run in which no program loaded the guard does not count.
    """
    try:
        lines = (checkout.private / _LOG).read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        lines = []
    opened = next((line for line in lines if line != _LOADED), "")
    if opened:
        return f"it opened files in {opened}, which is in the user's checkout"
    return "" if lines or not must_load else "no Python program loaded the guard"


def _encode(paths: Iterable[Path]) -> str:
    return json.dumps([os.fspath(one) for one in paths])

"""Finds the package indexes that the tools of a project use, and where their files are."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.sandbox.network.indexes import cargo, maven, node, other_tools, pip, python_project
from ostler.sandbox.network.indexes.assemble import assemble, is_index_variable
from ostler.sandbox.network.indexes.found import Found, Indexes, join_found
from ostler.sandbox.network.indexes.kept import is_public, keep, read_kept
from ostler.sandbox.network.indexes.learn import RETRY_SECONDS
from ostler.sandbox.network.indexes.learn import SECONDS as LEARN_SECONDS
from ostler.sandbox.network.indexes.tools import SECONDS, Tools

_QUESTIONS: tuple[Callable[[Tools], Found], ...] = (
    pip.find_pip, python_project.find_python_project, node.find_npm, node.find_yarn, cargo.find_cargo,
    other_tools.find_go, other_tools.find_gem, other_tools.find_conda, maven.find_maven,
)  # fmt: skip
_PROGRAMS = ("python3", "python", "uv", "npm", "pnpm", "yarn", "cargo", "go", "gem", "conda", "mvn")
_PREFIXES = (
    "PIP_", "UV_", "NPM_CONFIG_", "npm_config_", "YARN_", "CARGO_", "RUSTUP_", "GO", "BUNDLE_", "GEM_",
    "CONDA_", "XDG_", "PYENV_", "PYTHON",
)  # fmt: skip
_NAMES = frozenset(("HOME", "PATH", "VIRTUAL_ENV"))
_ABOVE = (".npmrc", ".python-version")  # also above the project
Stamp = tuple[tuple[int, int, int] | None, ...]


class _Answer(Struct, frozen=True):
    """What the tools named, and the state of the files at that time."""

    found: Found
    watched: tuple[Path, ...]
    stamp: Stamp
    asked_at: float


_Key = tuple[frozenset[tuple[str, str]], tuple[Path, ...]]
_answers: dict[_Key, _Answer] = {}
_lock = threading.Lock()  # two attempts that start together ask once


def find_indexes(
    environ: Mapping[str, str],
    cwd: Path,
    *,
    tool_seconds: float = SECONDS,
    learn_seconds: float = LEARN_SECONDS,
    monotonic: Callable[[], float] = time.monotonic,
    ask_again: bool = False,
) -> Indexes:
    """Return the indexes that the tools use in the user's checkout `cwd`; never pass a task's worktree.

    It takes at most the time for the tools and the time for the indexes. What is known, also from another
    run in the last hour, is not asked again until a settings file, a program or a variable changes, or with
    `ask_again`; after a failure it is asked again later. Run it in a thread.
    """
    place = Path(os.path.realpath(cwd))
    with _lock:
        found = _ask_once(environ, place, tool_seconds, monotonic, ask_again=ask_again)
        tools = Tools(environ, place, 0.0)
        return assemble(found, tools, learn_seconds, monotonic, ask_again=ask_again)


def _ask_once(
    environ: Mapping[str, str],
    cwd: Path,
    seconds: float,
    monotonic: Callable[[], float],
    *,
    ask_again: bool = False,
) -> Found:
    variables = frozenset(one for one in environ.items() if _matters(one[0]))
    key = (variables, (cwd, *python_project.list_requirements(cwd)))
    known = None if ask_again else _answers.get(key) or _read_kept(environ, key, monotonic())
    if known is not None and _is_valid(known, monotonic()):
        _answers[key] = known
        return known.found
    found = _ask_all(environ, cwd, seconds)
    watched = _list_watched(found, Tools(environ, cwd, 0.0))
    _answers[key] = answer = _Answer(found, watched, _read_stamp(watched), monotonic())
    if _may_keep(answer, key):
        keep(environ, _question(key), answer)
    return found


def _list_watched(found: Found, tools: Tools) -> tuple[Path, ...]:
    """Return the files that change an answer; without any the tools were not asked."""
    if not found.watched:
        return ()
    programs = (Path(path) for name in _PROGRAMS if (path := tools.find(name)))
    above = (place / name for place in (tools.cwd, *tools.cwd.parents) for name in _ABOVE)
    version = Path(tools.environ.get("PYENV_ROOT") or tools.home / ".pyenv", "version")
    return tuple(dict.fromkeys((*found.watched, *programs, *above, version)))


def _read_kept(environ: Mapping[str, str], key: _Key, now: float) -> _Answer | None:
    """Return the answer that an earlier run of the user got."""
    kept = read_kept(environ, _question(key), _Answer)
    return replace(kept[0], asked_at=now - kept[1]) if kept else None


def _may_keep(answer: _Answer, key: _Key) -> bool:
    """Return whether the tools were asked, and neither the answer nor a variable holds a secret."""
    texts = [index.url for index in answer.found.indexes] + [value for _, value in key[0]]
    return bool(answer.watched) and all(map(is_public, (*texts, *answer.found.notes)))


def _question(key: _Key) -> tuple[list[tuple[str, str]], tuple[Path, ...]]:
    return sorted(key[0]), key[1]


def _is_valid(known: _Answer, now: float) -> bool:
    if known.found.failed and now - known.asked_at >= RETRY_SECONDS:
        return False
    return known.stamp == _read_stamp(known.watched)


def _matters(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES) or is_index_variable(name)


def _ask_all(environ: Mapping[str, str], cwd: Path, seconds: float) -> Found:
    tools = Tools(environ, cwd, time.monotonic() + seconds)
    with ThreadPoolExecutor(len(_QUESTIONS), thread_name_prefix="package-tools") as pool:
        asked = [pool.submit(question, tools) for question in _QUESTIONS]
    parts = [one.result() for one in asked]
    if any(index.kind == "python" for index in parts[0].indexes):
        return join_found(parts)
    return join_found([*parts, python_project.find_uv_default(tools)])


def _read_stamp(paths: tuple[Path, ...]) -> Stamp:
    return tuple(_stamp(path) for path in paths)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino

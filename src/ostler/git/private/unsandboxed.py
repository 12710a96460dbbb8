"""Refuses a push of an agent that runs without a sandbox.

Its environment makes git read one more file of settings in the task's worktree, and only there: other
repositories, such as those of the project's own tests, are not affected. An agent that removes the variables
can push; only a sandbox prevents that.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from ostler.files.atomic import make_private_dir, write_changed_projection
from ostler.git.private.config import FLUSHED_OBJECTS, format_config
from ostler.git.private.programs import PUSH_REFUSED, SSH_PROGRAM, write_once, write_programs
from ostler.git.private.remotes import ANY_ADDRESS, REFUSED, Remotes, find_remotes
from ostler.git.repository import Repository
from ostler.git.run.failure import with_git_errors
from ostler.git.run.safe_config import Entry
from ostler.git.run.user_config import read_user_entries

_SETTINGS, _HOOKS, _BIN = "push.config", "hooks", "bin"
_USED = re.compile(r"core\.hookspath|remote\..*\.(url|pushurl)", re.DOTALL)
_PRE_PUSH = "pre-push"
_FORWARDED = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
    *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge"),
    *("post-rewrite", "pre-auto-gc", "sendemail-validate"),
)
_GLOB = re.compile(r"([\\*?\[\]])")


@with_git_errors
def refuse_push_variables(repository: Repository, place: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables for an agent with this environment; `place` is a directory of Ostler.

    With them git has no login, every push to a remote of this worktree is refused, and hooks of the user
    work as before.
    """
    make_private_dir(place, durable=False)
    write_programs(place / _BIN, allows_fetch=True)
    entries = _read_user_entries(repository)
    _write_hooks(place / _HOOKS, _find_hooks(repository, entries))
    settings = format_config(_build_settings(find_remotes(entries), place))
    write_changed_projection(place / _SETTINGS, settings)
    pattern = _GLOB.sub(r"\\\1", os.path.realpath(repository.git_dir))
    # With a slash at the end it means the directories below: those of submodules.
    names = [f"includeIf.gitdir:{one}.path" for one in (pattern, f"{pattern}/")]
    path = f"{place / _BIN}{os.pathsep}{environ.get('PATH', os.defpath)}"
    return {"PATH": path, **_add_settings(environ, dict.fromkeys(names, str(place / _SETTINGS)))}


def _add_settings(environ: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return variables that add settings to those that the environment has."""
    count = environ.get("GIT_CONFIG_COUNT", "0")
    start = int(count) if count.isdecimal() else 0
    added = {"GIT_CONFIG_COUNT": str(start + len(settings))}
    for number, (name, value) in enumerate(settings.items(), start):
        added |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return added


def _read_user_entries(repository: Repository) -> tuple[Entry, ...]:
    """Return hooks and remotes that git of the agent uses, which reads the user's own files too."""
    return tuple(entry for entry in read_user_entries(repository) if _USED.fullmatch(entry[0]))


def _build_settings(remotes: Remotes, place: Path) -> list[Entry]:
    named = [(f"url.{REFUSED}::.insteadof", address) for address in remotes.push_addresses]
    return [
        ANY_ADDRESS,
        *named,  # `pushinsteadof` does not apply to them
        ("credential.helper", ""),
        *FLUSHED_OBJECTS,
        ("push.default", "current"),  # so that a push without arguments is refused with the same sentence
        ("core.hookspath", str(place / _HOOKS)),
        ("core.sshcommand", shlex.quote(str(place / _BIN / SSH_PROGRAM))),
    ]


def _find_hooks(repository: Repository, entries: tuple[Entry, ...]) -> Path:
    named = dict(entries).get("core.hookspath", "")
    if not named:
        return repository.common_dir / "hooks"
    return repository.work_tree / Path(named).expanduser()


def _write_hooks(folder: Path, user: Path) -> None:
    """Write a hook that refuses a push, and one for each other that runs the user's."""
    make_private_dir(folder, durable=False)
    texts = {_PRE_PUSH: f"#!/bin/sh\necho {shlex.quote(PUSH_REFUSED)} >&2\nexit 1\n"}
    for name in _FORWARDED:
        hook = shlex.quote(str(user / name))
        texts[name] = f'#!/bin/sh\nif [ -x {hook} ]; then exec {hook} "$@"; fi\n'
    for name, text in texts.items():
        write_once(folder / name, text, 0o700)

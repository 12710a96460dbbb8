"""The stored sessions of agents without a task: `<id>.json`, its raw output `.jsonl`, its readable `.log`."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ostler.errors import UsageError
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.lock import is_locked
from ostler.project.project import Project

RAW, LOG = ".jsonl", ".log"
_RECORD = ".json"
_HINT = "run ostler agent sessions to see the sessions"


class AgentSession(Struct, frozen=True):
    """What stays the same when a session is continued."""

    session_id: str
    executor: str
    role: str
    model: str
    cwd: str
    turns: int = 0
    cost_usd: float = 0.0  # total cost of the session, where the agent reports it
    initial_id: str = field(
        default="", name="begun_as"
    )  # the id before the agent chose its own; also finds the session, and names its lock
    prompt: str = ""  # the first line of the first prompt
    used_at: float = 0.0  # start of the last turn


def find_sessions(project: Project, prefix: str) -> list[AgentSession]:
    """Return the sessions with this id or id prefix; an id that is complete finds only its own."""
    found = [one for one in list_sessions(project) if prefix and _has_prefix(one, prefix)]
    exact = [one for one in found if prefix in (one.session_id, one.initial_id)]
    return exact or found


def find_session(project: Project, prefix: str) -> AgentSession:
    """Return the session with this id or id prefix; raises UsageError."""
    found = find_sessions(project, prefix)
    if len(found) != 1:
        what = "no session" if not found else "more than one session"
        raise UsageError(f"{what} {prefix}", _HINT)
    return found[0]


def list_sessions(project: Project) -> list[AgentSession]:
    """Return all sessions of this project, latest first; a file that cannot be read is left out."""
    read = [(one, path.stat().st_mtime) for path, one in _read_records(project) if one is not None]
    return [one for one, _ in sorted(read, key=lambda pair: pair[0].used_at or pair[1], reverse=True)]


def list_unreadable(project: Project) -> list[Path]:
    """Return the files of sessions that cannot be read."""
    return [path for path, one in _read_records(project) if one is None]


def save_session(project: Project, session: AgentSession) -> None:
    make_private_dir(_folder(project))
    write_projection(_path(project, session.session_id, _RECORD), msgspec.json.encode(session))


def rename_session(project: Project, session: AgentSession, session_id: str) -> AgentSession:
    """Save the session under the id that the agent chose, at once, so that a kill does not lose it."""
    if session_id in ("", session.session_id):
        return session
    named = replace(session, session_id=session_id, initial_id=session.initial_id or session.session_id)
    file = _path(project, session.session_id, _RECORD)
    write_projection(file, msgspec.json.encode(named))
    file.replace(_path(project, session_id, _RECORD))
    return named


def move_outputs(project: Project, session: AgentSession) -> None:
    """Give the output of the first turn the id that the agent chose; call it when no turn runs."""
    for suffix in (RAW, LOG) if session.initial_id else ():
        old, new = (_path(project, one, suffix) for one in (session.initial_id, session.session_id))
        with suppress(FileNotFoundError):
            if not new.exists():
                old.rename(new)


def output_path(project: Project, session: AgentSession, suffix: str) -> Path:
    """Return the raw output or the log of a session, whether or not it exists."""
    current = _path(project, session.session_id, suffix)
    initial = _path(project, session.initial_id or session.session_id, suffix)
    return initial if initial.exists() and not current.exists() else current


def lock_path(project: Project, session: AgentSession) -> Path:
    return project.layout.state / "locks" / f"session-{session.initial_id or session.session_id}"


def is_in_use(project: Project, session: AgentSession) -> bool:
    """Return whether a turn of the session runs now."""
    return is_locked(lock_path(project, session))


def _has_prefix(session: AgentSession, prefix: str) -> bool:
    return session.session_id.startswith(prefix) or session.initial_id.startswith(prefix)


def _read_records(project: Project) -> list[tuple[Path, AgentSession | None]]:
    files = sorted(_folder(project).glob(f"*{_RECORD}"))
    # An executor may put files of its calls, such as settings, beside the raw output.
    return [(path, _read(path)) for path in files if f"{RAW}." not in path.name]


def _read(path: Path) -> AgentSession | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=AgentSession)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _path(project: Project, session_id: str, suffix: str) -> Path:
    """Return a file of a session; the agent may have chosen the id."""
    name = re.sub(r"[^\w.-]", "_", session_id)[:200]
    return _folder(project) / f"{name}{suffix}"


def _folder(project: Project) -> Path:
    return project.layout.state / "sessions"

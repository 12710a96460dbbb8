"""Where agents keep a session, so that it can be continued on another machine.

opencode is missing here: it keeps all sessions in one database, with its logins, and does not end when their
working directory is missing. Cursor was not tried. Both get a new session with a summary.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir
from ostler.files.beneath import read_beneath
from ostler.sandbox.home.writer import write_private
from ostler.secrets.redact import redact_bytes

_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{7,99}")
_MAX_FILES = 500
_MAX_BYTES = 64 << 20
_BLOCK_BYTES = 256 << 10
_MAX_FOLDER_NAME = 200  # of a longer path, claude uses another name


class SessionPlace(Struct, frozen=True):
    """Where one agent keeps its sessions."""

    folder: str  # below the home directory
    variable: str  # names another folder; empty: there is none
    files: tuple[str, ...]  # patterns below the folder, with {id}, or {short} for its first eight characters
    named_part: int | None = None  # part of the path that is made from the working directory


SESSION_PLACES: dict[str, SessionPlace] = {
    "claude": SessionPlace(
        ".claude", "CLAUDE_CONFIG_DIR", ("projects/*/{id}.jsonl", "projects/*/{id}/**/*"), named_part=1
    ),
    "codex": SessionPlace(".codex", "CODEX_HOME", ("sessions/*/*/*/rollout-*-{id}.jsonl",)),
    "copilot": SessionPlace(".copilot", "COPILOT_HOME", ("session-state/{id}/**/*",)),
    "gemini": SessionPlace(".gemini", "", ("tmp/*/chats/session-*-{short}.json*",)),
    "qwen": SessionPlace(".qwen", "", ("projects/*/chats/{id}.jsonl",), named_part=1),
}


class SavedSession(Struct, frozen=True):
    """The files of one session."""

    directory: str  # working directory of the agent
    files: dict[str, bytes]  # by their path below the folder of the agent


def read_session(
    kind: str, session_id: str, home: Path, env: Mapping[str, str], directory: Path
) -> bytes | None:
    """Return the files of a session without secrets; None if there are none, or too many.

    `kind` is the type of the executor, `home` its home directory. An agent can write there, so that no link
    out of the home directory is followed.
    """
    place = SESSION_PLACES.get(kind)
    if place is None or not _SESSION_ID.fullmatch(session_id):
        return None
    root, prefix = _find_folder(place, home, env)
    files: dict[str, bytes] = {}
    total = 0
    for name in _list_files(place, session_id, root / prefix):
        try:
            content = read_beneath(root, str(Path(prefix, name)), _MAX_BYTES)
        except OstlerError:
            continue  # a lock, a link or a directory: what a session needs are plain files
        total += len(content)
        if total > _MAX_BYTES or len(files) >= _MAX_FILES:
            return None
        files[name] = b"".join(map(redact_bytes, _split_lines(content)))
    return _encode(SavedSession(str(directory), files)) if files else None


def write_session(kind: str, saved: bytes, home: Path, env: Mapping[str, str], directory: Path) -> None:
    """Write the files of a session for an agent that works in `directory`, over those of the same names."""
    place, session = SESSION_PLACES[kind], _decode(saved)
    if session is None:
        return
    root, prefix = _find_folder(place, home, env)
    make_private_dir(root)
    for name, content in session.files.items():
        if not _is_session_file(place, name):
            continue  # such as settings with a program to run: who can write to the blob store can add them
        moved = _replace_directory(content, session.directory, str(directory))
        write_private(root, str(Path(prefix, _rename(place, name, str(directory)))), moved)


def _split_lines(content: bytes) -> Iterator[bytes]:
    """Yield blocks of whole lines: other threads, such as heartbeats, get no turn while one is searched."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", min(start + _BLOCK_BYTES, len(content)))
        end = len(content) if end < 0 else end + 1
        yield content[start:end]
        start = end


def _encode(session: SavedSession) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(session), 1)


def _decode(saved: bytes) -> SavedSession | None:
    """Return the files; None if another version of Ostler saved them in another form."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(saved), type=SavedSession)
    except (zlib.error, msgspec.MsgspecError):
        return None


def _find_folder(place: SessionPlace, home: Path, env: Mapping[str, str]) -> tuple[Path, str]:
    """Return the directory that an agent cannot replace, and the folder of the agent below it."""
    chosen = env.get(place.variable) if place.variable else ""
    return (Path(chosen), "") if chosen else (home, place.folder)


def _list_files(place: SessionPlace, session_id: str, folder: Path) -> Iterator[str]:
    names = {"id": session_id, "short": session_id[:8]}
    for pattern in place.files:
        for path in islice(folder.glob(pattern.format(**names)), 2 * _MAX_FILES):
            yield str(path.relative_to(folder))


def _is_session_file(place: SessionPlace, name: str) -> bool:
    """Return whether an agent keeps a file of a session under this name."""
    return any(re.fullmatch(_to_regex(pattern), name) for pattern in place.files)


def _to_regex(pattern: str) -> str:
    regex = re.escape(pattern.format(id="*", short="*"))
    return regex.replace(r"\*\*/\*", ".+").replace(r"\*", "[^/]+")


def _rename(place: SessionPlace, name: str, directory: str) -> str:
    """Return the path with the part that is made from the working directory."""
    own = re.sub(r"[^A-Za-z0-9]", "-", directory)
    if place.named_part is None or len(own) > _MAX_FOLDER_NAME:
        return name
    parts = name.split("/")
    return "/".join((*parts[: place.named_part], own, *parts[place.named_part + 1 :]))


def _replace_directory(content: bytes, before: str, now: str) -> bytes:
    """Return the lines with the new working directory: qwen does not find a session of another one.

    What the agent and its tools wrote stays as it is: parts of it are signed.
    """
    old, new = (b'"cwd":' + msgspec.json.encode(one) for one in (before, now))
    return content.replace(old, new)

"""Fills the private home directory of a task before each attempt.

The user's settings are copied again each time, so that changes by an agent do not last; the files of sessions
stay. Keys are never copied. What starts programs or adds instructions (MCP servers, hooks, CLAUDE.md) is
copied only if `sandbox.home` names it; otherwise it is reported as left out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ostler.config.home_files import KEY_MARK, parse_home_file
from ostler.errors import Code, OstlerError, PathEscape
from ostler.files.atomic import make_private_dir
from ostler.files.disk import to_disk_error
from ostler.sandbox.home.contents import HomeContents, HomeFile, Table
from ostler.sandbox.home.tables import find_part, read_table, remove_part, set_part, write_table
from ostler.sandbox.home.writer import remove_private, write_private

_MAX_FILE = 4 << 20
_MAX_FILES = 2000  # of one directory that the setting names
_MAX_TOTAL = 64 << 20


def prepare_home(
    place: Path, user_home: Path, contents: HomeContents, bring: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Copy the settings of an agent to a private home directory; return what it reads and does not get."""
    wanted = tuple(_check_entry(entry) for entry in bring)
    try:
        make_private_dir(place, durable=False)
        _fill(place, user_home, contents, wanted)
    except OSError as error:
        raise to_disk_error(place, error) from error
    return list_left_out(user_home, contents, bring)


def list_left_out(user_home: Path, contents: HomeContents, bring: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the files and keys of the user that an agent reads and does not get; writes nothing."""
    wanted = tuple(_check_entry(entry) for entry in bring)
    keys = (
        key
        for file in contents.files
        if file.path not in wanted
        for key in _list_left_keys(contents.find_source(file.path, user_home), file)
    )
    files = (path for path in contents.left_out if _has_content(contents.find_source(path, user_home)))
    return tuple(entry for entry in (*keys, *files) if entry not in wanted)


def _list_left_keys(source: Path, file: HomeFile) -> Iterator[str]:
    content = _read(source)
    table = read_table(file.path, content) if content is not None else {}
    if table is None:
        yield file.path  # not readable as JSON or TOML: its keys cannot be found
        return
    for key in file.left_out:
        if find_part(table, key) not in (None, {}, [], ""):
            yield f"{file.path}{KEY_MARK}{key}"


def _fill(place: Path, user_home: Path, contents: HomeContents, wanted: tuple[str, ...]) -> None:
    for path in (*contents.removed, *contents.left_out):
        if path not in wanted:
            remove_private(place, path)  # an agent must not leave keys or instructions for the next one
    for file in contents.files:
        _copy_settings(place, contents.find_source(file.path, user_home), file, wanted)
    settings = {file.path for file in contents.files}
    for entry in wanted:
        path, _, key = entry.partition(KEY_MARK)
        if path not in settings:
            _bring(place, contents.find_source(path, user_home), path, key)
    for path, content in contents.written.items():
        write_private(place, path, content)


def _copy_settings(place: Path, source: Path, file: HomeFile, wanted: tuple[str, ...]) -> None:
    """Copy one file without its parts that are left out."""
    if file.path in wanted:
        file = HomeFile(file.path, change=file.change)
    content = _read(source)
    table = read_table(file.path, content) if content is not None else {}
    kept = _cut(table, file, wanted) if table is not None else {}
    kept = file.change(kept) if file.change else kept
    if kept:
        write_private(place, file.path, write_table(file.path, kept))
    else:
        remove_private(place, file.path)


def _cut(table: Table, file: HomeFile, wanted: tuple[str, ...]) -> Table:
    """Return the parts of a file that an agent gets."""
    kept = _select(table, file.keep)
    for key in (*file.left_out, *file.secrets):
        value = find_part(table, key)
        if f"{file.path}{KEY_MARK}{key}" in wanted and value is not None:
            kept = set_part(kept, key, value)
        else:
            kept = remove_part(kept, key)
    return kept


def _select(table: Table, keep: tuple[str, ...] | None) -> Table:
    return table if keep is None else {key: table[key] for key in keep if key in table}


def _bring(place: Path, source: Path, path: str, key: str) -> None:
    """Copy a file, a directory or one key that only the setting names."""
    if source.is_dir() and not key:
        _copy_directory(place, source, path)
        return
    content = _read(source)
    if content is None:
        remove_private(place, path)
        return
    if key:
        value = find_part(read_table(path, content) or {}, key)
        content = write_table(path, set_part({}, key, value)) if value is not None else b""
    write_private(place, path, content)


def _copy_directory(place: Path, source: Path, path: str) -> None:
    remove_private(place, path)
    total = 0
    for number, file in enumerate(_list_files(source)):
        content = _read(file)
        total += len(content or b"")
        if number >= _MAX_FILES or total > _MAX_TOTAL:
            raise _refuse(
                path, f"has more than {_MAX_FILES} files or {_MAX_TOTAL >> 20} MB", "name a part of it"
            )
        if content is not None:
            write_private(place, f"{path}/{file.relative_to(source)}", content)


def _list_files(source: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(source):
        yield from (Path(folder, name) for name in sorted(names))


def _read(source: Path) -> bytes | None:
    """Return the content of a file of the user; None if it is not a regular file or too large."""
    try:
        with os.fdopen(os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_FILE:
                return None
            return file.read(_MAX_FILE)
    except OSError:
        return None


def _has_content(source: Path) -> bool:
    try:
        return any(source.iterdir()) if source.is_dir() else source.stat().st_size > 0
    except OSError:
        return False


def _check_entry(entry: str) -> str:
    """Return an entry of the setting without `~/`; raise CONFIG_INVALID when it leaves the home directory."""
    try:
        path, key = parse_home_file(entry)
    except PathEscape as error:
        raise _refuse(entry, "is not a path below the home directory", "correct it") from error
    return f"{path}{KEY_MARK}{key}" if key else path


def _refuse(entry: str, reason: str, hint: str) -> OstlerError:
    return OstlerError(Code.CONFIG_INVALID, f'"{entry}" in sandbox.home {reason}', hint)

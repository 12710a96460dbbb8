"""Edit a settings file in a draft: the file itself is only replaced by a valid one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, OstlerError, PreflightFailed, Problem, UsageError
from ostler.files.atomic import write_atomic
from ostler.project.inspection.inspect_project import inspect_settings
from ostler.project.inspection.refuse import sort_problems
from ostler.project.settings_files.change import Place, write_settings
from ostler.project.settings_files.starter import find_executor, make_starter
from ostler.text import describe_os_error


class EditedFile(Struct, frozen=True):
    changed: bool
    warnings: tuple[Problem, ...]


def edit_settings_file(place: Place, edit: Callable[[Path], None]) -> EditedFile:
    """Edit a draft and install it; raise PreflightFailed for an invalid one, which is kept with the file.

    An invalid draft of an earlier edit is continued.
    """
    path, draft = place.file.path, find_draft(place)
    before = _read(path)
    if draft.exists():
        _require_newer(place, draft)
        edit(draft)
    else:
        _edit_new(place, draft, before, edit)
    after = _read(draft)
    if after == before:
        draft.unlink(missing_ok=True)
    warnings = _check(place, draft, after)
    if after == before:
        return EditedFile(False, warnings)
    if _read(path) != before:
        hint = f"compare it with {draft.name}, then run ostler config edit again"
        raise OstlerError(Code.CONFLICT, f"{place.file.name} changed while it was edited", hint)
    write_settings(path, after)
    draft.unlink()
    return EditedFile(True, warnings)


def _require_newer(place: Place, draft: Path) -> None:
    """Raise if the file changed after the draft was saved: the draft would undo that change."""
    path, name = place.file.path, place.file.name
    if path.exists() and path.stat().st_mtime_ns > draft.stat().st_mtime_ns:
        hint = f"delete {draft.name} to start from {name}, or save it with the change to continue with it"
        raise OstlerError(Code.CONFLICT, f"{name} changed after {draft.name} was saved", hint)


def _edit_new(place: Place, draft: Path, before: bytes, edit: Callable[[Path], None]) -> None:
    """Edit a copy of the file, or a new file; a draft that the editor failed to open is not kept."""
    draft.parent.mkdir(parents=True, exist_ok=True)
    content = before or make_starter(place, find_executor(place.environ)).encode()
    write_atomic(draft, content, mode=0o600)
    try:
        edit(draft)
    except OstlerError:
        if _read(draft) == content:
            draft.unlink(missing_ok=True)
        raise


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {describe_os_error(error)}") from error


def find_draft(place: Place) -> Path:
    """Return the path of the draft, whether it exists or not."""
    return place.file.path.with_name(f"{place.file.path.name}.draft")


def _check(place: Place, draft: Path, content: bytes) -> tuple[Problem, ...]:
    """Return the warnings; raise PreflightFailed when there is an error."""
    problems = sort_problems(inspect_settings(place.root, place.environ, {place.file.path: content}))
    errors = [one for one in problems if one.severity == "error"]
    if not errors:
        return tuple(problems)
    if not draft.exists():
        raise PreflightFailed(errors, "fix them with: ostler config edit")
    kept = f"{place.file.name} is unchanged; " if place.file.path.exists() else ""
    raise PreflightFailed(errors, f"{kept}ostler config edit continues with {draft.name}")

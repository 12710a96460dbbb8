"""The details of warnings in the state: files that no commit contains, and changes of the repository."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.errors import WarningCode
from ostler.model.state import State
from ostler.model.warning import LeftFiles, WarningDetail


def set_left(state: State, left: LeftFiles | None) -> State:
    """Replace the files that no commit contains; the warning exists as long as there are some."""
    others = tuple(one for one in state.warnings if one != WarningCode.FILES_LEFT)
    if left is None or not left.count:
        return replace(state, left=None, warnings=others)
    if WarningCode.FILES_LEFT in state.warnings:
        return replace(state, left=left)
    return replace(state, left=left, warnings=(*others, WarningCode.FILES_LEFT))


def add_details(state: State, new: tuple[WarningDetail, ...]) -> tuple[WarningDetail, ...]:
    """Return the details of the task with new ones, each once."""
    return (*state.warning_details, *(one for one in new if one not in state.warning_details))


def forget_details(state: State) -> State:
    """Drop the details of warnings that the task no longer has."""
    details = tuple(one for one in state.warning_details if one.code in state.warnings)
    left = state.left if WarningCode.FILES_LEFT in state.warnings else None
    return replace(state, warning_details=details, left=left)

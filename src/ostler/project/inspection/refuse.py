"""Turn what was found into one refusal that lists everything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ostler.config.find import PROJECT_FILE
from ostler.errors import OstlerError, PreflightFailed, Problem, SettingsInvalid
from ostler.project.inspection.setup import to_problems

_EDIT = SettingsInvalid([]).hint
_HINT = "correct these; ostler doctor checks again"


def refuse(errors: Sequence[OstlerError], problems: Iterable[Problem] = ()) -> None:
    """Raise PreflightFailed with everything if there is an error; a single one keeps its code and hint."""
    found, distinct = list(problems), list({error.message: error for error in errors}.values())
    failed = any(problem.severity == "error" for problem in found)
    if len(distinct) == 1 and not failed:
        raise PreflightFailed([*to_problems(distinct[0]), *found], distinct[0].hint, distinct[0].code)
    if distinct or failed:
        more = (one for error in distinct for one in list_with_hint(error))
        problems = sort_problems([*found, *more])
        raise PreflightFailed(problems, _EDIT if all(map(_is_in_settings, problems)) else _HINT)


def _is_in_settings(problem: Problem) -> bool:
    """Return whether editing the settings corrects it; what a pull request lacks is installed instead."""
    is_program = problem.key == "git.on_complete"
    return problem.severity == "warning" or (problem.file == PROJECT_FILE and not is_program)


def sort_problems(found: Iterable[Problem]) -> list[Problem]:
    """Return the problems without duplicates, errors first, then by file and line."""
    return sorted(dict.fromkeys(found), key=lambda one: (one.severity, not one.file, one.file, one.line))


def list_with_hint(error: OstlerError) -> list[Problem]:
    """Return the problems of an error; the last one has the hint."""
    *first, last = to_problems(error)
    return [*first, replace(last, message=f"{last.message}; {error.hint}") if error.hint else last]

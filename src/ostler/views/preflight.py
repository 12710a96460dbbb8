"""The problems of a project (ostler.preflight/1)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ostler.errors import Problem


class PreflightView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.preflight/1"
    ok: bool  # false: a run would be refused
    problems: tuple[Problem, ...]  # errors first


def view_problems(problems: Sequence[Problem]) -> PreflightView:
    return PreflightView(ok=not any(one.severity == "error" for one in problems), problems=tuple(problems))

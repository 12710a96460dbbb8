"""How a command gate was checked, as one line."""

from __future__ import annotations

from collections.abc import Sequence

from ostler.model.state import GateCheck

_NAMES = 2  # weakened checks in a line
_LONGEST = 120  # characters of one of them


def describe_isolation(check: GateCheck | None) -> str:
    """Return how the command was isolated; empty for records of older versions."""
    if check is None or not check.isolation:
        return ""
    isolated = "not isolated" if check.isolation == "none" else f"isolated ({check.isolation})"
    tier = check.sandbox.tier if check.sandbox else "supervised"
    return isolated if tier == "supervised" else f"{isolated}, sandbox {tier}"


def describe_control(check: GateCheck | None) -> str:
    """Return the result of the positive control; empty if there is none."""
    return f"control: {check.control}" if check is not None and check.control else ""


def describe_check(check: GateCheck, verdict: str, sha: str | None) -> str:
    """Return command, verdict, commit and isolation: `pytest -q: pass on 3f2a…, isolated (bind-over)`."""
    on = f" on {sha:.10}" if sha else ""
    parts = (f"{check.command}: {verdict}{on}", describe_isolation(check), describe_control(check))
    weakened = (f"weakened checks: {shorten_weakened(check.weakened)}",) if check.weakened else ()
    return ", ".join(part for part in (*parts, *weakened) if part)


def shorten_weakened(lines: Sequence[str]) -> str:
    """Return the first weakened checks without the path of their tests, and the number of the others."""
    names = [_shorten(line) for line in lines[:_NAMES]]
    more = (f"{len(lines) - _NAMES} more",) if len(lines) > _NAMES else ()
    return "; ".join((*names, *more))


def _shorten(line: str) -> str:
    kind, colon, name = line.partition(": ")
    if colon and "::" in name and " " not in name.partition("[")[0]:
        line = f"{kind}: {name.partition('[')[0].rpartition('::')[2]}{''.join(name.partition('[')[1:])}"
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

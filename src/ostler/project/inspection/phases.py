"""Problems of phases and gates that only appear when a task is planned or checked."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from ostler.engine.dependencies import find_cycle
from ostler.errors import Problem
from ostler.lazy import lazy_pattern
from ostler.model.ids import TaskId
from ostler.project.inspection.setup import Setup
from ostler.project.tasks.planning import explain_phases

_LOCAL_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")  # a gate's environment may add them to PATH
# The names that a shell runs itself; the others are programs.
_SHELL_WORDS = lazy_pattern(
    r"\.|:|alias|bg|case|cd|command|echo|eval|exec|exit|export|false|fg|for|getopts|hash|if|jobs|kill|printf|pwd"
    r"|read|readonly|return|set|shift|test|time|times|trap|true|type|ulimit|umask|unset|until|wait|while"
)
_PLAIN = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


def find_phase_circles(setup: Setup) -> Iterator[Problem]:
    """Yield a problem when phases depend on each other in a circle."""
    options = setup.settings.phases.options
    after = {TaskId(name): tuple(map(TaskId, one.depends_on)) for name, one in options.items()}
    if circle := find_cycle(after, after):
        yield setup.problem(
            f"phases.options.{circle[0]}.depends_on", f"dependency cycle: {' -> '.join(circle)}"
        )


def find_plan_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for each list of phases that no task can have."""
    for weight, names in setup.settings.phases.plans.items():
        if found := explain_phases(names):
            yield setup.problem(f"phases.plans.{weight}", "; ".join(found))


def find_gate_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for a gate without a command, and for a command that no gate runs."""
    gates = setup.settings.gates
    for name in (name for name, command in gates.commands.items() if not command.strip()):
        yield setup.problem(f"gates.commands.{name}", "the command is empty; remove it, or write a command")
    general = {"default": gates.default, **{f"weights.{name}": kind for name, kind in gates.weights.items()}}
    for key in (key for key, kind in general.items() if kind == "command" and not gates.commands):
        yield setup.problem(f"gates.{key}", "no phase has a command; set gates.commands.PHASE")
    for name, kind in gates.phases.items():
        if kind == "command" and not gates.commands.get(name, "").strip():
            yield setup.problem(f"gates.phases.{name}", f"it has no command; set gates.commands.{name}")
        elif kind == "skip" and gates.commands.get(name):
            message = f'it is not run, because gates.phases.{name} = "{kind}"'
            yield setup.problem(f"gates.commands.{name}", message, "warning")


def find_missing_programs(setup: Setup) -> Iterator[Problem]:
    """Yield a warning for each gate and setup command whose program is not on PATH."""
    settings = setup.settings
    commands = {f"gates.commands.{name}": command for name, command in settings.gates.commands.items()}
    if settings.workspace.setup:
        commands = {"workspace.setup": settings.workspace.setup}  # it may install the programs of the gates
    for key, command in commands.items():
        program = first_program(command)
        if program and not _is_found(program, setup):
            yield setup.problem(key, f"program not found on PATH: {program}", "warning")


def first_program(command: str) -> str:
    """Return the first program of a shell command when it is a plain word; empty: none, or a shell word."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        return ""
    word = next((word for word in words if "=" not in word), "")
    return word if _PLAIN.fullmatch(word) and not _SHELL_WORDS.fullmatch(word) else ""


def _is_found(program: str, setup: Setup) -> bool:
    local = (Path(setup.root, folder, program) for folder in _LOCAL_PROGRAMS)
    return shutil.which(program, path=setup.environ.get("PATH")) is not None or any(map(Path.exists, local))

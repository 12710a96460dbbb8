"""Surveys the agents of this machine: which are installed, their version, login, health and drift.

Drift: a flag that Ostler passes and that the help of the installed version does not list. No model is called.
A program whose help cannot be read has no drift.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product, takewhile
from typing import TYPE_CHECKING, get_args

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import OstlerError
from ostler.executors.discover import PROGRAMS, AgentProgram, find_program, path_variable
from ostler.executors.health import (
    PROBE_SECONDS,
    CachedProbe,
    Health,
    HealthState,
    LoginStatus,
    Probe,
    check_login,
    probe_program,
)
from ostler.executors.protocol import Executor
from ostler.executors.registry import BUILT_IN, ExecutorRegistry
from ostler.model.call import Permissions
from ostler.process.runner import DefaultCommandRunner
from ostler.process.tool import ToolTimeout, run_tool
from ostler.text import strip_colours

if TYPE_CHECKING:
    from ostler.executors.program.spec import AgentSpec

__all__ = [
    "PROGRAMS",
    "AgentProgram",
    "CachedProbe",
    "Health",
    "HealthState",
    "LocatedProgram",
    "LoginStatus",
    "MissingFlags",
    "SurveyedAgent",
    "check_login",
    "find_drift",
    "find_program",
    "get_spec",
    "list_flags",
    "locate_programs",
    "parse_options",
    "path_variable",
    "probe_program",
    "probe_programs",
    "read_help",
    "survey_all",
    "survey_installed",
]

# Most agents are Node programs, which use a whole core for seconds when they start.
_PARALLEL_PROBES = 2


class MissingFlags(Struct, frozen=True):
    """Flags that Ostler passes and the program does not list."""

    command: tuple[str, ...]  # the subcommand before the flags, such as exec resume
    flags: tuple[str, ...]

    def __str__(self) -> str:
        subcommand = f" for `{' '.join(self.command)}`" if self.command else ""
        return f"{', '.join(self.flags)}{subcommand}"


class LocatedProgram(Struct, frozen=True):
    """An agent program and its path; None when it is not installed."""

    program: AgentProgram
    path: str | None
    fix: str = ""  # what makes a program usable that was not found


class SurveyedAgent(Struct, frozen=True):
    """What the survey found about one agent program."""

    program: AgentProgram
    path: str | None
    health: Health
    login: LoginStatus = LoginStatus.UNKNOWN
    fix: str = ""  # what makes a program usable that was not found
    missing_flags: tuple[MissingFlags, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Whether nothing is wrong, as far as can be seen without a call of a model."""
        logged_out = self.login is LoginStatus.NO
        return self.health.state is HealthState.HEALTHY and not logged_out and not self.missing_flags


def locate_programs(environ: Mapping[str, str]) -> list[LocatedProgram]:
    """Return every agent program that has a built-in executor, installed or not."""
    return [_locate(program, environ) for program in PROGRAMS]


def survey_installed(environ: Mapping[str, str]) -> list[SurveyedAgent]:
    """Return the installed agents in the order in which a new project prefers them, without drift.

    First those that OSTLER_<NAME>_PATH names, then those that are usable.
    """
    installed = [located for located in locate_programs(environ) if located.path]
    with ThreadPoolExecutor(_PARALLEL_PROBES) as pool:
        found = list(pool.map(partial(_check_program, environ), installed))
    return sorted(
        found, key=lambda agent: (not environ.get(path_variable(agent.program.name)), not agent.is_usable)
    )


def survey_all(environ: Mapping[str, str]) -> list[SurveyedAgent]:
    """Return every agent program that has an executor, installed or not, with drift."""
    located = [*locate_programs(environ), *_locate_plugins(environ)]
    with ThreadPoolExecutor(_PARALLEL_PROBES) as pool:
        return list(pool.map(partial(_check_agent, environ), located))


def probe_programs(paths: Sequence[str], probe: Probe | None = None) -> dict[str, Health]:
    """Return the health of each program; the same path is probed once."""
    distinct = list(dict.fromkeys(paths))
    with ThreadPoolExecutor(_PARALLEL_PROBES) as pool:
        return dict(zip(distinct, pool.map(probe or CachedProbe(), distinct), strict=True))


def get_spec(executor: Executor) -> AgentSpec | None:
    """Return the spec of the program that an executor runs, or None when it has none."""
    from ostler.executors.program.executor import ProgramExecutor  # noqa: PLC0415  (imported on use)

    return executor.spec if isinstance(executor, ProgramExecutor) else None


def _check_program(environ: Mapping[str, str], located: LocatedProgram) -> SurveyedAgent:
    program, path, health = located.program, located.path, probe_program(located.path)
    if path is None or health.state is not HealthState.HEALTHY:
        return SurveyedAgent(program, path, health, fix=located.fix)
    return SurveyedAgent(program, path, health, check_login(program, path, environ))


def _check_agent(environ: Mapping[str, str], located: LocatedProgram) -> SurveyedAgent:
    agent, spec = _check_program(environ, located), _load_spec(located.program.name)
    if agent.path is None or spec is None or agent.health.state is not HealthState.HEALTHY:
        return agent
    return replace(agent, missing_flags=tuple(find_drift(agent.path, spec)))


def _locate_plugins(environ: Mapping[str, str]) -> list[LocatedProgram]:
    """Return the programs of executors that other packages install."""
    plugins = [name for name in ExecutorRegistry().list(aliases=False) if name not in BUILT_IN]
    programs = [spec.program for name in plugins if (spec := _load_spec(name))]
    return [_locate(program, environ) for program in programs]


def _locate(program: AgentProgram, environ: Mapping[str, str]) -> LocatedProgram:
    found = program.find(environ)
    is_named = found.path is None and found.variable
    return LocatedProgram(program, found.path, program.describe_fix(found) if is_named else program.install)


def _load_spec(name: str) -> AgentSpec | None:
    try:
        return get_spec(ExecutorRegistry().get(name)(name, ExecutorSettings(), DefaultCommandRunner()))
    except OstlerError:
        return None


_SESSION = "00000000-0000-4000-8000-000000000000"
_MIN_OPTIONS = 3  # a text with fewer options is not a help screen
_DEFINITION = re.compile(r"^ {0,8}(-\S.*)$", re.MULTILINE)  # a deeper indentation is prose
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")

ReadHelp = Callable[[str, tuple[str, ...]], frozenset[str] | None]
"""Returns the options of a program or of its subcommand; None: unknown."""


def list_flags(spec: AgentSpec) -> dict[tuple[str, ...], frozenset[str]]:
    """Return every flag that Ostler may pass, by the subcommand before it."""
    from ostler.executors.program.spec import LaunchOptions  # noqa: PLC0415  (imported on use)

    used: dict[tuple[str, ...], frozenset[str]] = {}
    for permissions, resume in product(get_args(Permissions), (False, True)):
        args = spec.arguments(LaunchOptions(_SESSION, resume, "a-model", permissions, "{}"))
        command = tuple(takewhile(lambda arg: not arg.startswith("-"), args))
        flags = frozenset(arg.partition("=")[0] for arg in args if _OPTION.match(arg))
        used[command] = used.get(command, frozenset()) | flags
    first = next(iter(used))
    return {**used, first: used[first] | frozenset(spec.optional_flags)}


def find_drift(path: str, spec: AgentSpec, read: ReadHelp | None = None) -> list[MissingFlags]:
    """Return the flags that the program does not list; empty when its help cannot be read."""
    missing: list[MissingFlags] = []
    for command, flags in list_flags(spec).items():
        listed = (read or read_help)(path, command)
        if listed is not None and (absent := flags - listed):
            missing.append(MissingFlags(command, tuple(sorted(absent))))
    return missing


def read_help(
    path: str, command: tuple[str, ...] = (), seconds: float = PROBE_SECONDS
) -> frozenset[str] | None:
    """Run a program with --help and return its options, or None when it lists none."""
    try:
        argv = [path, *command, "--help"]
        done = run_tool(argv, env=dict(os.environ), cwd="/", timeout_seconds=seconds)
    except (OSError, ToolTimeout):
        return None
    found = parse_options((done.stdout + b"\n" + done.stderr).decode("utf-8", "replace"))
    return found if done.status == 0 and len(found) >= _MIN_OPTIONS else None


def parse_options(text: str) -> frozenset[str]:
    """Return the options that a help screen defines, without those that its prose mentions."""
    heads = (re.split(r" {2,}|\t", line)[0] for line in _DEFINITION.findall(strip_colours(text)))
    return frozenset(option for head in heads for option in _OPTION.findall(head))

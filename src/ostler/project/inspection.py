"""A look at the agent programs of this machine: whether each answers, and is still what we know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import OstlerError
from ostler.executors.discover import path_variable
from ostler.executors.drift import Gone, find_drift
from ostler.executors.health import Ask, Health, HealthProbe, State, probe
from ostler.executors.known import KnownProgram
from ostler.executors.login import Login, check_login
from ostler.executors.program import Dialect, ProgramExecutor
from ostler.executors.protocol import Executor
from ostler.executors.registry import BUILT_IN, ExecutorRegistry
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents import Program, survey

_AT_ONCE = 2  # most are Node programs that take a whole core for seconds


class Inspection(Struct, frozen=True):
    """One agent program, as it was found."""

    known: KnownProgram
    path: str | None
    health: Health
    login: Login = Login.UNKNOWN
    gone: tuple[Gone, ...] = ()  # DRIFT: what our adapter passes and this version does not list

    @property
    def works(self) -> bool:
        """As far as can be said without asking a model."""
        return self.health.state is State.HEALTHY and self.login is not Login.NO and not self.gone


def greet_agents(environ: Mapping[str, str]) -> list[Inspection]:
    """The agent programs that are on this machine, in the order in which a project would take them.

    One that OSTLER_<NAME>_PATH names goes first, then those that work.
    """
    found = [program for program in survey(environ) if program.path]
    with ThreadPoolExecutor(_AT_ONCE) as crew:
        met = list(crew.map(partial(_meet, environ), found))
    return sorted(met, key=lambda seen: (not environ.get(path_variable(seen.known.name)), not seen.works))


def inspect_agents(environ: Mapping[str, str]) -> list[Inspection]:
    """Every agent program that has an executor here, found or not; the slow ones are asked side by side."""
    with ThreadPoolExecutor(_AT_ONCE) as crew:
        return list(crew.map(partial(_inspect, environ), [*survey(environ), *_installed(environ)]))


def probe_all(paths: Sequence[str], ask: Ask | None = None) -> dict[str, Health]:
    """The health of each program, those of the same path asked once."""
    distinct = list(dict.fromkeys(paths))
    with ThreadPoolExecutor(_AT_ONCE) as crew:
        return dict(zip(distinct, crew.map(ask or HealthProbe(), distinct), strict=True))


def dialect_of(executor: Executor) -> Dialect | None:
    """How it talks with its program; None for one that has no program of a known kind."""
    return executor.dialect if isinstance(executor, ProgramExecutor) else None


def _meet(environ: Mapping[str, str], program: Program) -> Inspection:
    known, path, health = program.known, program.path, probe(program.path)
    if path is None or health.state is not State.HEALTHY:
        return Inspection(known, path, health)
    return Inspection(known, path, health, check_login(known, path, environ))


def _inspect(environ: Mapping[str, str], program: Program) -> Inspection:
    met, dialect = _meet(environ, program), _dialect(program.known.name)
    if met.path is None or dialect is None or met.health.state is not State.HEALTHY:
        return met
    return replace(met, gone=tuple(find_drift(met.path, dialect)))


def _installed(environ: Mapping[str, str]) -> list[Program]:
    """The programs of executors that other packages bring."""
    others = [name for name in ExecutorRegistry().list() if name not in BUILT_IN]
    dialects = [dialect for name in others if (dialect := _dialect(name))]
    return [Program(dialect.known, dialect.known.find(environ).path) for dialect in dialects]


def _dialect(name: str) -> Dialect | None:
    try:
        return dialect_of(ExecutorRegistry().get(name)(name, ExecutorSettings(), DefaultCommandRunner()))
    except OstlerError:
        return None

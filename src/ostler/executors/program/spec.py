"""What is specific to one agent program: how it is found, started and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from ostler.executors.discover import AgentProgram
from ostler.executors.output import OutputFormat, StreamReader
from ostler.executors.protocol import Capabilities
from ostler.executors.sandboxed.needs import SandboxNeeds
from ostler.model.call import AgentCall, CallResult, OnEvent, Permissions
from ostler.model.command import Exit
from ostler.model.limits.window import ReportedWindow


class OutputReader(Protocol):
    """Reads the output of one run, then evaluates the run."""

    def read_line(self, line: bytes) -> bool:
        """Read one line; return True when the agent has given its result."""
        ...

    def read_error_line(self, line: bytes) -> None:
        """Read one line of the error output."""
        ...

    def evaluate(self, exit: Exit) -> CallResult:
        """Return the result of the run."""
        ...


MakeReader = Callable[[AgentCall, OnEvent], OutputReader]
ReadWindows = Callable[[Mapping[str, str], str, float], tuple[ReportedWindow, ...]]
"""Returns the windows that the agent stored for a session since a time."""
Repair = Callable[[Mapping[str, str], str], str]
"""Repairs what the error output of a failed run shows to be broken; returns a message, or an empty string."""


class LaunchOptions(Struct, frozen=True):
    """What the arguments of one start depend on."""

    session_id: str  # empty: the agent chooses its own
    resume: bool
    model: str
    permissions: Permissions
    schema: str = ""  # of the final text, as JSON or as the path of a file; only with structured_output


class ExtraArguments(Struct, frozen=True):
    """Arguments that depend on the call or the project, and what to warn about."""

    arguments: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    refusal: str = ""  # why the program must not be started; empty: it may be


class DefaultSettings(Struct, frozen=True):
    """Settings that the agent reads from a file; the settings of the user override them."""

    variable: str  # holds the path of the file
    content: bytes
    # Why the agent skips a file there; empty: it does not. A private home directory then has the settings.
    find_refusal: Callable[[Path], str] | None = None


class AgentSpec(Struct, frozen=True):
    """What is specific to one agent program."""

    program: AgentProgram
    capabilities: Capabilities
    arguments: Callable[[LaunchOptions], tuple[str, ...]]  # without the prompt
    read_output: MakeReader | None = None  # None: the executor holds a conversation with the program
    default_env: dict[str, str] = {}  # variables that the call and the settings override
    permission_env: dict[Permissions, dict[str, str]] = {}  # variables that only the settings override
    default_settings: DefaultSettings | None = None
    extra_arguments: Callable[[AgentCall, tuple[str, ...]], ExtraArguments] | None = None
    optional_flags: tuple[str, ...] = ()  # flags of extra_arguments, for the check of drift
    system_prompt_flag: str = ""  # names a file that is added to the system prompt; empty: there is none
    schema_in_file: bool = False  # the schema is passed as the path of a file
    read_windows: ReadWindows | None = None  # for an agent that stores limits and does not print them
    repair: Repair | None = None  # after a repair the program is started once more
    sandbox: SandboxNeeds | None = None  # None: keys go in, and no settings of the user


def decode_with(output_format: OutputFormat) -> MakeReader:
    """Return a factory of readers for this output format."""
    return partial(StreamReader, output_format)

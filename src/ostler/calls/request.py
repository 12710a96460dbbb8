"""The request for one call and its outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ostler.calls.attempts.session import AgentSession
from ostler.executors.protocol import Capabilities
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult
from ostler.model.ids import TaskId
from ostler.model.policy.model_config import ModelPool
from ostler.model.task import Priority

if TYPE_CHECKING:
    from ostler.calls.sandbox.workspace import Workspace

BuildPrompt = Callable[[bool, str], str]
"""Returns the prompt; its arguments: whether the session is continued, and how the attempt before ended."""
BuildFreshPrompt = Callable[[str, str, list[Attempt]], Awaitable[str]]
"""Returns a prompt for a new session that describes the work so far.

Its arguments: the executor, how the attempt before ended, and all attempts.
"""
SelectSession = Callable[[str, bool, list[Attempt]], AgentSession]
"""Returns the session of an executor; its arguments: the executor, whether it can resume, all attempts."""


class AnswerFormat(Struct, frozen=True):
    """A JSON schema for the answer, with the prompts that ask for it."""

    schema: str  # as JSON
    build_prompt: BuildPrompt
    build_fresh_prompt: BuildFreshPrompt


class CallRequest(Struct, frozen=True):
    """One call as the engine requests it."""

    task: TaskId
    key: str
    phase: str
    iteration: int
    role: str
    pool: ModelPool
    cwd: str
    task_dir: Path  # for prompts and transcripts
    attempts: list[Attempt]  # all earlier attempts of the task
    select_session: SelectSession
    build_prompt: BuildPrompt
    build_fresh_prompt: BuildFreshPrompt
    answer_format: AnswerFormat | None = None  # for executors that enforce a schema; others answer in text
    preferred: str = ""  # the model that holds the session; it is tried first
    feature: str = ""  # the pool of slots with this name is used if there is one
    priority: Priority = "P2"
    read_only_cwd: str = ""  # used instead of cwd by executors that change no files
    system: str = ""  # the system prompt
    model_system: str = ""  # used instead by executors that start no program; empty: the same
    skill_directory: str = ""  # files that executors which start no program can read with a tool
    state_file: str = ""  # the agent's copy of its state
    budget_usd: float | None = None  # of the task; None: the budget of the settings
    workspace: Workspace | None = None  # files of the agent's sandbox; None: its working directory
    on_session: Callable[[str], None] | None = (
        None  # receives the id of the session of each attempt, in a thread
    )
    template: str = ""  # where the template of its prompt comes from, for the record
    keeps_answer: bool = True  # in a file until its step is recorded; False: no step is recorded

    def system_for(self, capabilities: Capabilities) -> str:
        """Return the system prompt for an executor."""
        return self.system if capabilities.starts_program else self.model_system or self.system

    def answer_format_for(self, capabilities: Capabilities) -> AnswerFormat | None:
        """Return the format that an executor must use; None: free text."""
        return self.answer_format if capabilities.structured_output else None


class CallOutcome(Struct, frozen=True):
    """How a call ended."""

    result: CallResult
    attempt: int = 0  # number of the last one
    answer: str = ""  # path of the file with the final text, relative to the task's directory
    prompt: str = ""
    reports_status: bool = True  # the final text of this executor can report a status
    structured: bool = False  # the final text has the requested answer format
    resumes_at: float | None = None  # set when only limits prevent the call

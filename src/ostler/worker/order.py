"""One call: as it is ordered, and how it ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct

from ostler.executors.protocol import Capabilities
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult
from ostler.model.choice import ModelPool
from ostler.model.ids import TaskId
from ostler.model.task import Priority
from ostler.worker.session import Session

PromptFor = Callable[[bool, str], str]
"""The prompt, given whether the session knows the task and how the attempt before ended."""
FreshPromptFor = Callable[[str, str, list[Attempt]], Awaitable[str]]
"""The prompt that tells the work so far: the executor that is told, how the attempt before ended, and all of
the attempts."""
SessionFor = Callable[[str, bool, list[Attempt]], Session]
"""The session in which an executor goes on: its name, whether it resumes, all attempts so far."""


class Form(Struct, frozen=True):
    """An answer that is an object, for executors that can be held to one; its prompts speak of it."""

    schema: str  # as JSON
    prompt_for: PromptFor
    fresh_prompt_for: FreshPromptFor


class Order(Struct, frozen=True):
    """One call as the engine orders it."""

    task: TaskId
    key: str
    phase: str
    iteration: int
    role: str
    pool: ModelPool
    cwd: str
    papers: Path  # the task's directory: prompts and transcripts
    attempts: list[Attempt]  # all earlier attempts of the task
    session_for: SessionFor
    prompt_for: PromptFor
    fresh_prompt_for: FreshPromptFor
    form: Form | None = None  # wanted instead of free text
    preferred: str = ""  # the model that the session is with; it goes first
    feature: str = ""  # a slot pool of this name is preferred
    priority: Priority = "P2"
    library: str = ""  # where an executor that changes nothing may look instead of cwd
    system: str = ""  # who the agent is told to be, where that is apart from the prompt
    state_file: str = ""  # the agent's copy of its state
    budget_usd: float | None = None  # of the task; none: as the settings say

    def form_for(self, can: Capabilities) -> Form | None:
        """What the answer of such an executor must look like; None: as it likes."""
        return self.form if can.structured_output else None


class Report(Struct, frozen=True):
    """How a call ended."""

    result: CallResult
    attempt: int = 0  # number of the last one
    answer: str = ""  # path of the final text, below the task's directory
    prompt: str = ""
    speaks: bool = True  # the executor that answered can say how it went
    structured: bool = False  # and was held to the order's form
    resumes_at: float | None = None  # only limits stand in the way, until then

"""The task: what a person wants."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from ostler.model.ids import TaskId

Weight = Literal["trivial", "small", "medium", "large", "greenfield"]
Priority = Literal["P0", "P1", "P2", "P3"]
WEIGHTS: tuple[Weight, ...] = get_args(Weight)
PRIORITIES: tuple[Priority, ...] = get_args(Priority)


class Input(Struct, frozen=True, omit_defaults=True):
    """A file of the project that a document is made from."""

    path: str
    description: str = ""
    optional: bool = False  # it may be missing, as where an upstream task failed and the others went on


class Output(Struct, frozen=True, omit_defaults=True):
    """Where a document goes, below the project's directory."""

    path: str = ""  # empty: as its skill says
    format: str = "markdown"


class Part(Struct, frozen=True, omit_defaults=True):
    """The place of a task in a pipeline's run."""

    run: str
    step: str
    at_once: int = 3  # of the run's tasks, at most, in one `ostler run`
    stops: bool = True  # one that fails stops the others; false: they go on with what there is


class Task(Struct, frozen=True, omit_defaults=True):
    """What a person wants, as they said it."""

    title: str
    body: str = ""  # the description, Markdown
    id: TaskId = TaskId("")  # empty until it is added
    weight: Weight = "small"
    priority: Priority = "P2"
    role: str = "implementer"
    executor: str = ""  # empty: as the settings say
    model: str = ""  # empty: as the settings say
    phases: tuple[str, ...] = ()  # empty: those of its weight
    after: tuple[TaskId, ...] = ()  # tasks that must be completed before
    not_before: float | None = None  # seconds since the epoch
    feature: str = ""  # a slot pool of this name is used
    budget_usd: float | None = None  # none: as the settings say
    skill: str = ""  # what it is written by; such a task is a document's
    inputs: tuple[Input, ...] = ()  # what it is written from
    output: Output | None = None  # a task with an output is a document's, too
    sender: str = ""  # who asks for it: a person, another task, a schedule
    revision: int = 0  # times that it was sent back before it came here
    review: str = ""  # who looks at the document: "human", a skill; empty: as the settings say
    max_revisions: int | None = None  # times that it is sent back before a person decides; none: three
    next: tuple[str, ...] = ()  # the skills that go on with the document, one after the other
    tags: tuple[str, ...] = ()
    pipeline: Part | None = None
    after_any: bool = False  # what it comes after need only have ended, however
    tier: str = ""  # opus, sonnet, haiku or another of [tiers]; empty: as the settings say
    timeout_seconds: float | None = None  # of one attempt; none: as the settings say
    max_retries: int | None = None  # on one model; none: as the settings say
    source: str = ""  # what it was imported from: file:a.md, checklist:TODO.md#text, github:acme/app#12

    @property
    def is_document(self) -> bool:
        """Whether its result is a text for the project, and no change of code."""
        return bool(self.skill) or self.output is not None

"""A task as it was requested."""

# Annotations are values here: msgspec would compile each text again, a tenth of the start of a run.

import re
from typing import Literal, cast, get_args

from msgspec import Struct

from ostler.model.ids import TaskId

Weight = Literal["trivial", "small", "medium", "large", "greenfield"]
Priority = Literal["P0", "P1", "P2", "P3", "P4"]
PriorityName = Literal["P0", "P1", "P2", "P3", "P4", "high", "medium", "low", "background"]
"""A priority as people write it; a word is that of the pool in which agents of the priority run."""
WEIGHTS: tuple[Weight, ...] = get_args(Weight)
PRIORITIES: tuple[Priority, ...] = get_args(Priority)
PRIORITY_NAMES: tuple[PriorityName, ...] = get_args(PriorityName)
FIRST_LATE_PRIORITY: Priority = "P3"  # with limits.use_before_reset, it and P4 start before a reset
REVIEWER = "reviewer"  # the role whose agent decides at ai gates
PRIORITY_WORDS: dict[str, Priority] = {"high": "P0", "medium": "P2", "low": "P3", "background": "P4"}


def to_priority(name: str) -> Priority:
    """Return the priority with this name; a name that is not one is returned as it is, to be refused."""
    return cast(Priority, PRIORITY_WORDS.get(name, name))


_LABEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


def explain_invalid_label(label: str) -> str:
    """Return why no worker can have this label; empty if one can."""
    if _LABEL.fullmatch(label):
        return ""
    expected = "expected up to 32 lower-case letters, digits, - and _, a letter or digit first"
    return f"invalid label {label!r:.80}: {expected}"


class Input(Struct, frozen=True, omit_defaults=True):
    """A file of the project that a document is based on."""

    path: str
    description: str = ""
    optional: bool = False  # it may be missing, e.g. because an earlier task failed


class Output(Struct, frozen=True, omit_defaults=True):
    """Path and format of a document, relative to the project."""

    path: str = ""  # empty: defined by the skill
    format: str = "markdown"


class PipelineMember(Struct, frozen=True, omit_defaults=True):
    """The pipeline run and the step that a task belongs to."""

    run: str
    step: str
    max_parallel: int = 3  # tasks of this run that may run at once
    stop_on_failure: bool = True  # false: the other tasks continue after a failure


class Task(Struct, frozen=True, omit_defaults=True):
    """A task as it was requested; empty fields are filled in from the settings."""

    title: str
    body: str = ""  # description in Markdown
    id: TaskId = TaskId("")  # empty until the task is added
    weight: Weight = "small"
    priority: Priority = "P2"
    role: str = "implementer"
    executor: str = ""
    model: str = ""
    phases: tuple[str, ...] = ()  # empty: those of the weight
    after: tuple[TaskId, ...] = ()  # tasks that must be completed first
    not_before: float | None = None  # seconds since the epoch
    feature: str = ""  # name of the slot pool to use
    budget_usd: float | None = None
    skill: str = ""  # makes the task a document task
    inputs: tuple[Input, ...] = ()  # files that the document is based on
    output: Output | None = None  # makes the task a document task
    sender: str = ""  # requested by: a person, another task, a schedule
    revision: int = 0  # earlier revisions of the document
    review: str = ""  # reviewer of the document: "human" or a skill
    max_revisions: int | None = None  # rejections before a person decides; none: three
    next: tuple[str, ...] = ()  # skills that continue with the document, one after the other
    tags: tuple[str, ...] = ()
    pipeline: PipelineMember | None = None
    after_any: bool = False  # tasks in `after` need only have ended, with any status
    tier: str = ""  # opus, sonnet, haiku or another of [tiers]
    timeout_seconds: float | None = None  # of one attempt
    max_retries: int | None = None  # on one model
    order_only: bool = False  # `after` gives the order only; the work starts from the target
    start_commit: str = ""  # commit of the user's uncommitted changes to start from; empty: the target
    allow_test_changes: bool = False  # the work may remove, skip or change existing tests
    proposed_by: TaskId = TaskId("")  # the task whose agent created it; set by Ostler
    external_id: str = ""  # its id in the file that it was imported from, where that is not a valid task id
    prompts: dict[str, str] = {}  # phase -> template of its prompt
    source: str = ""  # imported from: file:a.md, checklist:TODO.md#text, github:acme/app#12
    queued_at: float | None = None  # time that counts for its place in the queue; none: of its creation
    label: str = ""  # only a worker with this label runs it, on several machines

    @property
    def goal(self) -> str:
        """The title without the name of the pipeline's step."""
        return self.title.removeprefix(f"{self.pipeline.step}: ") if self.pipeline else self.title

    @property
    def is_document(self) -> bool:
        """Whether the result is a document instead of a code change."""
        return bool(self.skill) or self.output is not None


class Schedule(Struct, frozen=True):
    """When a task or pipeline is started repeatedly."""

    cron: str  # minute, hour, day of the month, month, day of the week
    location: str  # file and line of the definition

"""Builds the prompt of a document from its skill, its task and its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from ostler.model.task import Output, Task
from ostler.skills.content import Reference, SkillContent

_CHARACTERS_PER_TOKEN = 4  # an estimate

_NO_CONTEXT = "No product marketing context available. Work with the information provided in the task."
_NO_INPUTS = "No upstream inputs for this task."
_REVISED = """\
This is revision #{count}. Previous output was reviewed and changes were requested.
See the review feedback in the upstream inputs above."""
_REVISE = """\
Your document was reviewed, and changes are requested:

{feedback}

Write the whole document again with these changes. Your answer replaces it, so it must be the document and \
nothing else."""

_ANSWERED = """\
{dialogue}

Write the whole document now. Your answer must be the document and nothing else."""


class Upstream(Struct, frozen=True):
    """One input of the document."""

    path: str
    description: str
    content: str


class DocumentPrompt(Struct, frozen=True):
    system: str  # the skill
    user: str  # the task
    dropped: tuple[str, ...] = ()  # references that did not fit


def build_prompt(
    skill_content: SkillContent,
    task: Task,
    product_context: str | None,
    upstream_outputs: Sequence[Upstream],
    max_tokens: int = 0,
) -> DocumentPrompt:
    """Return both parts; over `max_tokens` references are left out, the last first, and listed."""
    user = _format_user(task, product_context, upstream_outputs)
    kept = list(skill_content.references)
    limit = max_tokens * _CHARACTERS_PER_TOKEN
    size = len(user) + len(_format_system(skill_content.body, kept, ()))
    dropped: list[str] = []
    while limit and kept and size > limit:
        left_out = kept.pop()
        size -= len(_format_reference(left_out))
        dropped.insert(0, PurePosixPath(left_out.path).name)
    return DocumentPrompt(_format_system(skill_content.body, kept, dropped), user, tuple(dropped))


def build_revision_prompt(feedback: str) -> str:
    """Return the prompt for a session that has the task and the last answer."""
    return _REVISE.format(feedback=feedback.strip() or "no reason was given")


def build_answered_prompt(dialogue: str) -> str:
    """Return the prompt for a session that asked a question; the dialogue ends with the answer."""
    return _ANSWERED.format(dialogue=dialogue)


def _format_system(body: str, references: Sequence[Reference], dropped: Sequence[str]) -> str:
    parts = [body.strip(), *map(_format_reference, references)]
    if dropped:
        parts.append(f"---\n(Left out because of their size: {', '.join(dropped)}.)")
    return "\n\n".join(part for part in parts if part)


def _format_reference(reference: Reference) -> str:
    return f"---\n## Reference: {PurePosixPath(reference.path).name}\n{reference.content.strip()}"


def _format_user(task: Task, context: str | None, inputs: Sequence[Upstream]) -> str:
    sections = [
        f"## Product Context\n{(context or '').strip() or _NO_CONTEXT}",
        f"## Task Assignment\n{_format_assignment(task)}",
        "## Upstream Inputs\n" + ("\n\n".join(map(_format_input, inputs)) or _NO_INPUTS),
        f"## Requirements\n{task.body.strip()}",
    ]
    if task.revision > 0:
        sections.append(f"## Revision Context\n{_REVISED.format(count=task.revision)}")
    sections.append(f"## Output Instructions\n{_format_instructions(task.output or Output())}")
    return "\n\n".join(sections) + "\n"


def _format_assignment(task: Task) -> str:
    rows = {
        "Task ID": task.id,
        "From": task.sender or "a person",
        "Priority": task.priority,
        "Goal": task.goal,
    }
    return "\n".join(f"- **{name}:** {value}" for name, value in rows.items())


def _format_input(one: Upstream) -> str:
    title = one.description or PurePosixPath(one.path).stem
    return f"### Input: {title}\nSource: {one.path}\n\n{one.content.strip()}"


def _format_instructions(output: Output) -> str:
    return (
        "- Write your complete output below\n"
        f"- Format: {output.format}\n"
        "- Be thorough and follow the skill guidelines above"
    )

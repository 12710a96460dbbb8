"""Builds the prompt of a document from its skill, its task and its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from ostler.model.task import Output, Task
from ostler.skills.content import Reference, SkillContent
from ostler.skills.outputs import is_always_file
from ostler.text import format_size

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

_REVISE_REVIEWED = """\
Your document was reviewed, and changes are requested:

{feedback}

Write the whole document again with these changes. Your answer replaces it, so it must be the document, and \
after it only the JSON object."""

_REVISE_FILE = """\
Your document was reviewed, and changes are requested:

{feedback}

Change the file {name} in your working directory, or write it again. Answer with a short summary of the \
changes."""

_ANSWERED = """\
{dialogue}

Write the whole document now. Your answer must be the document and nothing else."""

_ANSWERED_FILE = """\
{dialogue}

Write the file {name} in your working directory now. Answer with a short summary."""

_OPTIONAL_FILE = """\
---
If you create the document with a program, write it to the file {name} in your working directory. Then this \
file is the document, and your answer is only a summary."""

_BINARY = """\
This is a binary file ({size}). It is not shown here; programs find it in the working directory: {copy}"""


class UpstreamOutput(Struct, frozen=True):
    """One input of the document."""

    path: str
    description: str
    content: str


class DocumentPrompt(Struct, frozen=True):
    system_prompt: str  # the skill
    user_message: str  # the task
    dropped: tuple[str, ...] = ()  # references that did not fit


def build_prompt(
    skill_content: SkillContent,
    task: Task,
    product_context: str | None,
    upstream_outputs: Sequence[UpstreamOutput],
    max_tokens: int = 0,
    reserved: int = 0,
) -> DocumentPrompt:
    """Return both parts; over `max_tokens` references are left out, the last first, and listed.

    `reserved`: characters that the caller adds.
    """
    user = _format_user(task, product_context, upstream_outputs)
    kept = list(skill_content.references)
    limit = max_tokens * _CHARACTERS_PER_TOKEN
    size = reserved + len(user) + len(_format_system(skill_content.body, kept, ()))
    dropped: list[str] = []
    while limit and kept and size > limit:
        left_out = kept.pop()
        size -= len(_format_reference(left_out))
        dropped.insert(0, PurePosixPath(left_out.path).name)
    return DocumentPrompt(_format_system(skill_content.body, kept, dropped), user, tuple(dropped))


def build_revision_prompt(feedback: str, file: str = "", *, has_review: bool = False) -> str:
    """Return the prompt for a session that has the task and the last answer.

    `file`: it writes this file; `has_review`: it answers the comments of a review after its document.
    """
    reason = feedback.strip() or "no reason was given"
    if file:
        return _REVISE_FILE.format(feedback=reason, name=file)
    return (_REVISE_REVIEWED if has_review else _REVISE).format(feedback=reason)


def build_answered_prompt(dialogue: str, file: str = "") -> str:
    """Return the prompt for a session that asked a question; the dialogue ends with the answer."""
    return (
        _ANSWERED_FILE.format(dialogue=dialogue, name=file) if file else _ANSWERED.format(dialogue=dialogue)
    )


def describe_optional_file(name: str) -> str:
    """Return the note for a program that may write its document as a file instead of an answer."""
    return _OPTIONAL_FILE.format(name=name)


def describe_binary_input(size: int, copy: str) -> str:
    """Return the text in place of an input that is not text."""
    return _BINARY.format(size=format_size(size), copy=copy)


def _format_system(body: str, references: Sequence[Reference], dropped: Sequence[str]) -> str:
    parts = [body.strip(), *map(_format_reference, references)]
    if dropped:
        parts.append(f"---\n(Left out because of their size: {', '.join(dropped)}.)")
    return "\n\n".join(part for part in parts if part)


def _format_reference(reference: Reference) -> str:
    return f"---\n## Reference: {PurePosixPath(reference.path).name}\n{reference.content.strip()}"


def _format_user(task: Task, context: str | None, inputs: Sequence[UpstreamOutput]) -> str:
    sections = [
        f"## Product Context\n{(context or '').strip() or _NO_CONTEXT}",
        f"## Task Assignment\n{_format_assignment(task)}",
        "## Upstream Inputs\n" + ("\n\n".join(map(_format_input, inputs)) or _NO_INPUTS),
        f"## Requirements\n{task.body.strip()}",
    ]
    sections.append(f"## Output Instructions\n{_format_instructions(task.output or Output())}")
    if task.revision > 0:
        sections.append(f"## Revision Context\n{_REVISED.format(count=task.revision)}")
    return "\n\n".join(sections) + "\n"


def _format_assignment(task: Task) -> str:
    rows = {
        "Task ID": task.id,
        "From": task.sender or "a person",
        "Priority": task.priority,
        "Goal": task.goal,
    }
    return "\n".join(f"- **{name}:** {value}" for name, value in rows.items())


def _format_input(one: UpstreamOutput) -> str:
    title = one.description or PurePosixPath(one.path).stem
    return f"### Input: {title}\nSource: {one.path}\n\n{one.content.strip()}"


def _format_instructions(output: Output) -> str:
    guidelines = "- Be thorough and follow the skill guidelines above"
    if not is_always_file(output.path):
        return f"- Write your complete output below\n- Format: {output.format}\n{guidelines}"
    path = PurePosixPath(output.path)
    kind = path.suffix[1:] if output.format == Output().format else output.format
    return (
        f"- Write the file {path.name} in your working directory; this file is your complete output\n"
        f"- Format: {kind}\n"
        f"{guidelines}\n"
        "- Answer with a short summary when the file is complete"
    )

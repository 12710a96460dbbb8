"""The prompts of a phase: the first one, the one that goes on, and the one after an interruption."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.task import Task

_MARKS = """\
When the work is complete and you have checked it, end your last message with
`<phase_complete>true</phase_complete>`. If you cannot go on without a person, end it with
`<phase_blocked>the reason</phase_blocked>` instead."""

_ASK_FOR_MARK = """\
You have not said whether the work is complete. Look at what is there, finish what is missing, and then
say so."""


class Place(Struct, frozen=True):
    """Where the agent works, as it is told."""

    directory: str
    branch: str | None = None


class Past(Struct, frozen=True):
    """What happened before this call that the agent should know."""

    iteration: int = 1
    last_answer: str = ""  # carried over where each iteration has a fresh session
    interruption: str = ""  # how an earlier attempt at this very iteration ended
    knows_task: bool = False  # the session that is continued has seen the task


def build_prompt(task: Task, place: Place, past: Past) -> str:
    """The whole text for one attempt."""
    parts = (
        [_continuation(past)]
        if past.knows_task
        else [_assignment(task), _surroundings(place), _earlier(past)]
    )
    if past.interruption:
        parts.append(f"## What happened before\n\n{past.interruption}")
    parts.append(f"## How to end\n\n{_MARKS}")
    return "\n\n".join(part for part in parts if part) + "\n"


def interruption_note(how: str, place: Place) -> str:
    """What a resumed agent is told about the attempt before it."""
    look = "git status and git diff show them" if place.branch else "look before you write"
    return (
        f"An earlier attempt at this ended before it was done: {how}. "
        f"Whatever it changed is still in the working directory ({look}); go on from there."
    )


def _assignment(task: Task) -> str:
    return f"# {task.title}\n\n{task.body.strip()}".rstrip()


def _surroundings(place: Place) -> str:
    where = f"You work in {place.directory}"
    if place.branch:
        where += (
            f", a git worktree of its own on the branch {place.branch}. "
            "Ostler commits what you leave there: edit the files and do not push"
        )
    return f"## Where you are\n\n{where}. Nobody is there to answer questions; decide and go on."


def _earlier(past: Past) -> str:
    if past.iteration == 1 or not past.last_answer:
        return ""
    return f"## Your answer in the last iteration\n\n{past.last_answer.strip()}\n\n{_ASK_FOR_MARK}"


def _continuation(past: Past) -> str:
    return "Go on with the task." if past.interruption else _ASK_FOR_MARK

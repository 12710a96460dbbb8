"""The tools of a client outside of a task, in the words that a model reads."""

from __future__ import annotations

from ostler.mcp_server import arguments as given
from ostler.mcp_server import verbs
from ostler.mcp_server.answer import Standing
from ostler.mcp_server.listing import Listing, list_tasks
from ostler.mcp_server.offer import Offer

TOOLS = (
    Offer(
        "submit",
        "Write a task down",
        "Write down a task for an unattended agent; it is never lost. A run that a person starts works on "
        "it, in a worktree of its own, and leaves a branch. Nothing is started here.",
        given.Submit,
        Standing,
        verbs.submit,
    ),
    Offer(
        "list",
        "List tasks",
        "The project's tasks and how each one stands, the last changed first.",
        given.List,
        Listing,
        list_tasks,
        "reads",
    ),
    Offer(
        "show",
        "Show a task",
        "One task in full: where it stands, why, its branch and commit, its phases and gates, every attempt, "
        "tokens and cost.",
        given.One,
        Standing,
        verbs.show,
        "reads",
    ),
    Offer(
        "approve",
        "Approve a task",
        "Say yes where a task waits for a person (needs_review, or blocked at a gate). Only when the person "
        "whom you work for has decided it: their work is merged or published on this word.",
        given.Approve,
        Standing,
        verbs.approve,
    ),
    Offer(
        "reject",
        "Reject a task",
        "Say no there: the work goes back to its agent with the reason. Only when the person has decided it.",
        given.Reject,
        Standing,
        verbs.reject,
    ),
    Offer(
        "cancel",
        "Cancel a task",
        "End a task for good: its agent is stopped, what it did is kept.",
        given.Cancel,
        Standing,
        verbs.cancel,
        "ends",
    ),
    Offer(
        "resume",
        "Resume a task",
        "Let a paused, blocked or deferred task go on, with a word for its agent.",
        given.Resume,
        Standing,
        verbs.resume,
    ),
    Offer(
        "pause",
        "Pause a task",
        "Let a task rest where it stands: its agent is stopped, work and session are kept.",
        given.One,
        Standing,
        verbs.pause,
    ),
    Offer(
        "retry",
        "Retry a task",
        "Make a failed, cancelled, blocked or paused task pending again; its history and its cost stay.",
        given.Retry,
        Standing,
        verbs.retry,
    ),
)

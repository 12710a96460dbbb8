"""The one tool of an agent inside its task: its own word about it."""

from __future__ import annotations

from functools import partial

from msgspec import Struct, to_builtins

from ostler.mcp_server.answer import Answer
from ostler.mcp_server.arguments import Report
from ostler.mcp_server.offer import Offer
from ostler.project.insider import Insider
from ostler.project.project import Project
from ostler.prompt.report import read_report


class Reported(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.report/1"
    task_id: str
    attempt: int
    status: str


def report(insider: Insider, project: Project, asked: Report) -> Answer:
    word = read_report(asked.status, asked.reason)
    task = project.resolve(insider.task)
    project.report(task, insider.attempt, word)
    reported = Reported(task_id=task, attempt=insider.attempt, status=word.said)
    return Answer(f"{task} is reported {word.said}. End your turn now.", to_builtins(reported))


def report_tool(insider: Insider) -> Offer:
    """It takes no id: the task is the one that this process belongs to."""
    return Offer(
        "report",
        "Report on your task",
        f"Say how your own task, {insider.task}, stands. Call it once, at the end of your work or when you "
        "cannot go on; the last report counts.",
        Report,
        Reported,
        partial(report, insider),
        at_hand=True,
    )

"""What a running attempt costs so far, by the price list."""

from __future__ import annotations

from ostler.calls.spending.prices import calculate_cost, find_price
from ostler.model.ids import TaskId
from ostler.model.usage import Usage
from ostler.project.artifacts.task_folder import LOGS, find_task_folder
from ostler.project.project import Project
from ostler.views.agent_work.attempt_log import log_path, read_log
from ostler.views.agent_work.transcript import list_transcripts
from ostler.views.lists.lanes import Lane

_HEAD = 10  # entries of a log; the first ones name the model


def find_live_model(project: Project, lane: Lane) -> str:
    """Return the model of the running attempt: as the settings name it, or as the agent reported it."""
    if lane.model or not lane.attempt:
        return lane.model
    pages = list_transcripts(find_task_folder(project, TaskId(lane.task), *LOGS))
    heads = (read_log(log_path(page), 0, _HEAD).entries for page in pages if page.number == lane.attempt)
    entries = (entry for head in heads for entry in head)
    return next((str(entry.get("model", "")) for entry in entries if entry["type"] == "session_started"), "")


def price_live_tokens(project: Project, lane: Lane) -> float | None:
    """Return the cost of the running attempt; None without tokens, or if its model has no known price."""
    if not lane.attempt or lane.live == Usage():
        return None
    price = find_price(find_live_model(project, lane), lane.attempt_at, project.settings.prices)
    return calculate_cost(lane.live, price) if price else None

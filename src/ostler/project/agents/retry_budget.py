"""The retries per hour of a project, for `ostler models` and `ostler doctor`."""

from __future__ import annotations

from ostler.calls.models.availability import describe_retries
from ostler.project.project import Project


def describe_retry_budget(project: Project, now: float) -> str:
    """Return that failures are not retried because the retries of the hour are used; empty otherwise."""
    per_hour = project.settings.retry.budget_per_hour
    ledger = project.store.open_ledger()
    try:
        used = ledger.count_retries(now)
    finally:
        ledger.close()
    return f"Failures are {describe_retries(per_hour)}." if used >= per_hour > 0 else ""

"""The title and the body of a pull request."""

from __future__ import annotations

from msgspec import Struct

from ostler.git.commit.trailers import to_header_line

_MAX_TITLE_LENGTH = 250  # GitHub allows 256
_MAX_SECTION_LENGTH = 20_000  # GitHub allows 65,536 in total
_PREFIX = "[ostler]"


class Proposal(Struct, frozen=True):
    """The requested content and options of a pull request."""

    title: str
    body: str
    draft: bool = False
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    auto_merge: bool = False


def write_title(task_title: str, prefix: str = _PREFIX) -> str:
    """Return the title with its prefix, on one line."""
    title = to_header_line(f"{prefix} {task_title}")
    return title if len(title) <= _MAX_TITLE_LENGTH else title[: _MAX_TITLE_LENGTH - 1] + "…"


def write_body(
    task: str, task_title: str, summary: str, checks: tuple[str, ...], warnings: tuple[str, ...] = ()
) -> str:
    """Return the body: the summary, the warnings, the task and the checks that were run."""
    check_list = "\n".join(f"- {to_header_line(check)}" for check in checks) or "No check was run."
    parts = {
        "Summary": summary.strip() or task_title,
        "Warnings": "\n".join(f"- {to_header_line(warning)}" for warning in warnings),
        "Task": f"`{task}`: {to_header_line(task_title)}",
        "How it was checked": check_list,
    }
    return "\n\n".join(f"## {name}\n\n{_truncate(text)}" for name, text in parts.items() if text) + "\n"


def _truncate(text: str) -> str:
    cleaned = text.replace("\0", "")
    return (
        cleaned if len(cleaned) <= _MAX_SECTION_LENGTH else cleaned[:_MAX_SECTION_LENGTH] + "\n\n(truncated)"
    )

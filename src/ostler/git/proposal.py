"""What a pull request says: a title, what was done, for which task, and how it was checked."""

from __future__ import annotations

from msgspec import Struct

from ostler.git.trailers import one_line

_LONGEST_TITLE = 250  # GitHub takes 256
_LONGEST_PART = 20_000  # GitHub takes 65,536 for all
_PREFIX = "[ostler]"


class Proposal(Struct, frozen=True):
    """A pull request as it is wanted."""

    title: str
    body: str
    draft: bool = False
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    auto_merge: bool = False


def write_title(task_title: str, prefix: str = _PREFIX) -> str:
    """One line that says whose work it is."""
    title = one_line(f"{prefix} {task_title}")
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"


def write_body(task: str, task_title: str, summary: str, checks: tuple[str, ...]) -> str:
    """Summary, task, and how it was checked; nothing that was not checked is claimed."""
    checked = "\n".join(f"- {one_line(check)}" for check in checks) or "No check was run."
    parts = {
        "Summary": summary.strip() or task_title,
        "Task": f"`{task}`: {one_line(task_title)}",
        "How it was checked": checked,
    }
    return "\n\n".join(f"## {name}\n\n{_cut(text)}" for name, text in parts.items()) + "\n"


def _cut(text: str) -> str:
    plain = text.replace("\0", "")
    return plain if len(plain) <= _LONGEST_PART else plain[:_LONGEST_PART] + "\n\n(cut here)"

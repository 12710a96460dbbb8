"""Whether an agent's final text says that the phase is complete or blocked."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE_SPAN = re.compile(r"(?<!`)(`++).*?\1", re.DOTALL)
# Up to the next tag of its kind, without going back: a long text must not take longer than it is long.
_BLOCKED = r"<phase_blocked>(?P<reason>[^<]*+(?:<(?!/?phase_blocked>)[^<]*+)*+)</phase_blocked>"
_NO_REASON = "the agent gave no reason"


class Mark(Struct, frozen=True):
    kind: Literal["complete", "blocked"]
    reason: str = ""


def check_phase_completion(text: str, phase: str, prompt: str = "") -> Mark | None:
    """The last mark in the text; marks in code, in quotes and in echoes of the prompt do not count."""
    tag = rf"(?:phase|{re.escape(phase)})"
    marks = re.compile(rf"<{tag}_complete>\s*true\s*</{tag}_complete>|{_BLOCKED}", re.IGNORECASE)
    last: Mark | None = None
    for found in marks.finditer(_own_words(text, prompt)):
        reason = found["reason"]
        last = Mark("complete") if reason is None else Mark("blocked", reason.strip() or _NO_REASON)
    return last


def _own_words(text: str, prompt: str) -> str:
    echoes = {line.strip() for line in prompt.splitlines() if line.strip()}
    kept = [
        line for line in text.splitlines() if line.strip() not in echoes and not line.lstrip().startswith(">")
    ]
    return _CODE_SPAN.sub("", _FENCE.sub("", "\n".join(kept)))

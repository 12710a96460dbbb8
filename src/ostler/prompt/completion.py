"""Whether an agent's final text says that the phase is complete or blocked."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE_SPAN = re.compile(r"(`+)[^`].*?\1", re.DOTALL)


class Mark(Struct, frozen=True):
    kind: Literal["complete", "blocked"]
    reason: str = ""


def check_phase_completion(text: str, phase: str, prompt: str = "") -> Mark | None:
    """The last mark in the text; marks in code, in quotes and in echoes of the prompt do not count."""
    tag = rf"(?:phase|{re.escape(phase)})"
    marks = re.compile(
        rf"<{tag}_complete>\s*(?P<complete>[^<]*?)\s*</{tag}_complete>"
        r"|<phase_blocked>\s*(?P<reason>.*?)\s*</phase_blocked>",
        re.IGNORECASE | re.DOTALL,
    )
    last: Mark | None = None
    for found in marks.finditer(_own_words(text, prompt)):
        if found["reason"] is not None:
            last = Mark("blocked", found["reason"] or "the agent gave no reason")
        elif found["complete"].lower() == "true":
            last = Mark("complete")
    return last


def _own_words(text: str, prompt: str) -> str:
    echoes = {line.strip() for line in prompt.splitlines() if line.strip()}
    kept = [
        line for line in text.splitlines() if line.strip() not in echoes and not line.lstrip().startswith(">")
    ]
    return _CODE_SPAN.sub("", _FENCE.sub("", "\n".join(kept)))

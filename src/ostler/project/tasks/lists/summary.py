"""An agent's own summary of its work: its final words."""

from __future__ import annotations

from ostler.files.layout import Layout
from ostler.model.state import State
from ostler.prompt.completion import read_final_words

_MAX_CHARS = 2000


def read_summary(state: State, layout: Layout) -> str:
    """Return the final words of the last agent, without marks and JSON; empty if there are none."""
    if not state.answer:
        return ""
    try:
        text = (layout.task(state.task) / state.answer).read_text("utf-8", "replace")
    except OSError:
        return ""
    return read_final_words(text)[:_MAX_CHARS]

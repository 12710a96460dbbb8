"""A fake model server on 127.0.0.1, so that real agent programs and clients run offline:

    with FakeLlm([call("Write", file_path="a.txt", content="hello"), say("Done.")]) as llm:
        ...  # start claude with ANTHROPIC_BASE_URL=llm.url, codex with base_url = llm.url + "/v1"
    assert llm.requests[1].holds("File created")

It implements Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini. A turn is
an Answer, a Failure, a Silence, a Flood, or a function of the Request; FAULTS has the faults, LIMITS the
limits of an account at 93 %, rejected, for a week, for one model, and others.
From a shell: `ostler testing serve-model --port 8080 --script turns.yaml`.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ostler.config.checks.expect import explain_invalid, nearest
from ostler.testing.llm.faults import FAULTS, limited
from ostler.testing.llm.limit_cases import LIMITS, near, overage, reject
from ostler.testing.llm.limits import Limits, LimitWindow
from ostler.testing.llm.request import REDACTED, Request
from ostler.testing.llm.script import Scripted, Turns
from ostler.testing.llm.server import FakeLlm
from ostler.testing.llm.shape import fit
from ostler.testing.llm.turns import Answer, Failure, Flood, Silence, ToolCall, Turn, call, fail, say

__all__ = [
    "FAULTS",
    "LIMITS",
    "REDACTED",
    "Answer",
    "Failure",
    "FakeLlm",
    "Flood",
    "LimitWindow",
    "Limits",
    "Request",
    "Scripted",
    "Silence",
    "ToolCall",
    "Turn",
    "Turns",
    "call",
    "complete_phase",
    "fail",
    "fit",
    "limited",
    "near",
    "overage",
    "read_script",
    "reject",
    "say",
]

_KINDS: dict[str, type[Turn]] = {
    "status": Failure,
    "silence_seconds": Silence,
    "flood_bytes": Flood,
}


def read_script(text: str) -> list[Scripted]:
    """Read turns from YAML: a list of texts, {fault: NAME}, {limit: NAME}, or the fields of a turn."""
    entries = msgspec.yaml.decode(text)
    if not isinstance(entries, list):
        raise msgspec.ValidationError("expected a list of turns")
    return [_turn(number, entry) for number, entry in enumerate(cast("list[object]", entries), 1)]


def complete_phase(request: Request) -> Answer:
    """An answer that completes the phase of a task, approves a review, or fits the schema of the request."""
    answer = fit(request)
    if answer is not None and "verdict" in str(answer):
        return fit(request, verdict="approved", findings=[]) or answer
    return answer or say("Done.\n\n<phase_complete>true</phase_complete>")


def _turn(number: int, value: object) -> Scripted:
    if isinstance(value, str):
        return say(value)
    if not isinstance(value, dict):
        raise msgspec.ValidationError(f"turn {number}: expected a text or a mapping, got {value!r:.80}")
    entry = cast("dict[str, Any]", value)
    try:
        for kind, named in (("fault", FAULTS), ("limit", LIMITS)):
            if set(entry) == {kind}:
                return _find(kind, entry[kind], named)
        form = next((form for name, form in _KINDS.items() if name in entry), Answer)
        return msgspec.convert(entry, form)
    except msgspec.ValidationError as error:
        name, reason = explain_invalid(error)
        what = f"{name}: {reason}" if name else reason
        raise msgspec.ValidationError(f"turn {number}: {what.replace('`', '')}") from None


def _find(kind: str, value: object, named: dict[str, Scripted]) -> Scripted:
    name = str(value)
    if name not in named:
        closest = nearest(name, named)
        suggestion = f"did you mean {closest}?" if closest else f"expected one of {', '.join(named)}"
        raise msgspec.ValidationError(f"unknown {kind} {name}: {suggestion}")
    return named[name]

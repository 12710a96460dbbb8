"""A fake model server on 127.0.0.1, so that real agent programs and clients run offline:

    with FakeLlm([call("Write", file_path="a.txt", content="hello"), say("Done.")]) as llm:
        ...  # start claude with ANTHROPIC_BASE_URL=llm.url, codex with base_url = llm.url + "/v1"
    assert llm.requests[1].holds("File created")

It implements Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini. A turn is
an Answer, a Failure, a Silence, a Flood, or a function of the Request; FAULTS has the faults, LIMITS the
limits of an account at 93 %, rejected, for a week, for one model, and others.
From a shell: `python -m ostler.testing.fake_llm --port 8080 --script turns.yaml`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

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
    return [_turn(entry) for entry in msgspec.yaml.decode(text, type=list[str | dict[str, Any]])]


def _turn(entry: str | dict[str, Any]) -> Scripted:
    if isinstance(entry, str):
        return say(entry)
    for kind, named in (("fault", FAULTS), ("limit", LIMITS)):
        if set(entry) == {kind}:
            return _find(kind, entry[kind], named)
    form = next((form for name, form in _KINDS.items() if name in entry), Answer)
    return msgspec.convert(entry, form)


def _find(kind: str, name: str, named: dict[str, Scripted]) -> Scripted:
    if name not in named:
        raise msgspec.ValidationError(f"unknown {kind} {name}: expected one of {', '.join(named)}")
    return named[name]


def main() -> None:
    """Serve until Ctrl-C and print one line per request."""
    options = _options()
    try:
        turns = read_script(options.script.read_text("utf-8")) if options.script else []
        llm = FakeLlm(turns, options.port)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        sys.exit(f"cannot start the server: {error}")
    with llm:
        print(f"listening on {llm.url}", flush=True)
        _print_requests(llm)


def _print_requests(llm: FakeLlm) -> None:
    printed = 0
    while True:
        for request in llm.requests[printed:]:
            printed += 1
            print(f"{request.method} {request.path} {request.model} {request.size} bytes", flush=True)
        time.sleep(0.2)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m ostler.testing.fake_llm", description="Run a model server to try agents offline."
    )
    parser.add_argument("--port", type=int, default=0, help="port to listen on (0: any free port)")
    parser.add_argument(
        "--script", type=Path, help="YAML file with a list of turns; the last turn is repeated"
    )
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)

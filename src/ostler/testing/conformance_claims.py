"""A check for every claim of Capabilities: one that does not hold is DRIFT, and fails the suite."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

import msgspec
from msgspec import Struct

from ostler.errors import Code
from ostler.executors.protocol import Capabilities
from ostler.model.call import CallResult
from ostler.testing.conformance_bench import Bench, Check, demand, demand_success, read_transcript

_LONG = (
    "This line is here to make the prompt longer than an argument may be.\n" * 3000
)  # 200 kB; 128 are the most
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_?[A-Z0-9_]*\*?")
_NOT_THEIRS = ("PATH", "LD_PRELOAD", "SSH_AUTH_SOCK", "DATABASE_URL", "NODE_OPTIONS", "OSTLER_ATTEMPT")


_WORD = "osprey"
_FIELDS: dict[str, object] = {"word": {"type": "string", "enum": [_WORD]}, "sure": {"type": "boolean"}}
_SHAPE = {"type": "object", "properties": _FIELDS, "required": [*_FIELDS], "additionalProperties": False}
_SCHEMA = msgspec.json.encode(_SHAPE).decode()


class _Told(Struct, frozen=True, forbid_unknown_fields=True):
    word: str
    sure: bool


class Seen(Struct, frozen=True):
    """One plain call, and what is known of it afterwards."""

    asked_id: str
    result: CallResult
    transcript: bytes

    @property
    def speaks_acp(self) -> bool:
        first = self.transcript.strip().partition(b"\n")[0]
        try:
            line = msgspec.json.decode(first, type=dict[str, object])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        return line.get("jsonrpc") == "2.0"


def _takes_our_id(can: Capabilities, seen: Seen) -> None:
    demand(seen.result.session_id == seen.asked_id or not can.takes_our_id, "it did not take our session id")


def _reports_usage(can: Capabilities, seen: Seen) -> None:
    used = seen.result.usage.total > 0
    demand(used or not can.reports_usage, "it claims to report usage and reported none")
    demand(can.reports_usage or not used, "it reports usage without claiming to")


def _reports_cost(can: Capabilities, seen: Seen) -> None:
    told = seen.result.cost_usd is not None
    demand(told or not can.reports_cost, "it claims to report cost and did not")
    demand(can.reports_cost or not told, "it reports cost without claiming to")


def _speaks(can: Capabilities, seen: Seen) -> None:
    demand(seen.result.text.strip() or not can.speaks, "it claims to speak, and its success has no text")


def _starts_program(can: Capabilities, seen: Seen) -> None:
    started = seen.result.exit_code is not None
    demand(started or not can.starts_program, "it claims to start a program, and there is no exit code")
    demand(can.starts_program or not started, "it started a program without claiming to")


def _acp(can: Capabilities, seen: Seen) -> None:
    demand(seen.speaks_acp or not can.acp, "it claims to speak ACP, and its transcript is not JSON-RPC")
    demand(can.acp or not seen.speaks_acp, "it speaks JSON-RPC without claiming to")


_OF_ONE_CALL: dict[str, Callable[[Capabilities, Seen], None]] = {
    "takes_our_id": _takes_our_id,
    "reports_usage": _reports_usage,
    "reports_cost": _reports_cost,
    "speaks": _speaks,
    "starts_program": _starts_program,
    "acp": _acp,
}


async def keeps_its_claims(bench: Bench) -> None:
    """Those that one call can show."""
    call = bench.call(bench.subject.work)
    result = await bench.spawn(call)
    demand_success(result)
    seen = Seen(call.session_id, result, read_transcript(call))
    for holds in _OF_ONE_CALL.values():
        holds(bench.claims, seen)


async def resumes_or_says_no(bench: Bench) -> None:
    first = await bench.spawn(bench.call(bench.subject.remember))
    second = await bench.resume(bench.call(bench.subject.recall, before=first))
    if not bench.claims.resumes:
        demand(second.code is Code.RESUME_UNSUPPORTED, f"resume without the capability gave {second.code}")
        return
    demand_success(second)
    demand(bench.subject.word in second.text, f"the session's history is gone: {second.text!r:.200}")
    demand(second.session_id == first.session_id, "the session id changed")


async def takes_a_prompt_of_any_length(bench: Bench) -> None:
    """What is handed over as an argument ends at 128 kB."""
    if bench.claims.stdin_prompt:
        result = await bench.spawn(bench.call(f"{bench.subject.work}\n\n{_LONG}"))
        demand(result.ok, f"a prompt of 200 kB gave {result.code}: {result.message}")


async def answers_to_a_schema(bench: Bench) -> None:
    """In a new session and in one that goes on; who cannot do it answers as always."""
    first = await bench.spawn(bench.call(bench.subject.ask, schema=_SCHEMA))
    demand_success(first)
    if not bench.claims.structured_output:
        demand(not _fits(first.text), "it answers to a schema without claiming to")
        return
    demand(_fits(first.text), f"it claims structured output, and answered {first.text!r:.200}")
    if bench.claims.resumes:
        second = await bench.resume(bench.call(bench.subject.ask, before=first, schema=_SCHEMA))
        demand(_fits(second.text), f"in a resumed session it answered {second.text!r:.200}")


def _fits(text: str) -> bool:
    try:
        return msgspec.json.decode(text, type=_Told).word == _WORD
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False


async def stays_in_its_sandbox(bench: Bench) -> None:
    """Whether the model obeys or not, nothing is written outside of the workspace."""
    if bench.claims.own_sandbox:
        await bench.spawn(bench.call(bench.subject.trespass))
        demand(not bench.has_trespassed(), "it claims a sandbox, and wrote outside of its workspace")


async def asks_for_its_own_variables_alone(bench: Bench) -> None:
    """What it declares is taken from the person's environment; a wide pattern would hand out every secret."""
    conditional = bench.claims.environment_with.items()
    for pattern in (
        *bench.claims.environment,
        *(name for when, more in conditional for name in (when, *more)),
    ):
        demand(_VARIABLE.fullmatch(pattern), f"{pattern!r} is no variable and no prefix of one")
        taken = [name for name in _NOT_THEIRS if fnmatchcase(name, pattern)]
        demand(not taken, f"{pattern!r} would give it {', '.join(taken)}")


async def counts_cost_once(bench: Bench) -> None:
    if not bench.claims.reports_cost:
        return
    first = await bench.spawn(bench.call(bench.subject.remember))
    second = await bench.resume(bench.call(bench.subject.recall, before=first))
    costs, total = (first.cost_usd or 0.0) + (second.cost_usd or 0.0), second.session_cost_usd or 0.0
    demand(abs(costs - total) < 1e-9, f"the attempts cost {costs} and the session {total}")


async def counts_usage_once(bench: Bench) -> None:
    first = await bench.spawn(bench.call(bench.subject.remember))
    second = await bench.resume(bench.call(bench.subject.recall, before=first))
    if second.session_usage is not None:
        used, total = first.usage + second.usage, second.session_usage
        demand(used == total, f"the attempts used {used} and the session {total}")


CLAIMS: dict[str, Check] = {
    "resumes": resumes_or_says_no,
    **dict.fromkeys(_OF_ONE_CALL, keeps_its_claims),
    "structured_output": answers_to_a_schema,
    "own_sandbox": stays_in_its_sandbox,
    "stdin_prompt": takes_a_prompt_of_any_length,
    "environment": asks_for_its_own_variables_alone,
    "environment_with": asks_for_its_own_variables_alone,
}
"""Which check would find out that a claim is false: one for every field of Capabilities."""

MORE_CHECKS: tuple[Check, ...] = (counts_cost_once, counts_usage_once)

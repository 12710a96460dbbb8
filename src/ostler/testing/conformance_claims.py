"""One check for each field of Capabilities; a claim that does not hold fails the suite."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.errors import Code
from ostler.executors.protocol import Capabilities
from ostler.files.fingerprint import fingerprint
from ostler.model.call import CallResult
from ostler.testing.conformance_bench import Bench, Check, demand, demand_success, read_transcript

_LONG = (
    "This line is here to make the prompt longer than an argument may be.\n" * 3000
)  # 200 kB; an argument holds at most 128 kB
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_?[A-Z0-9_]*\*?")
_FOREIGN_VARIABLES = ("PATH", "LD_PRELOAD", "SSH_AUTH_SOCK", "DATABASE_URL", "NODE_OPTIONS", "OSTLER_ATTEMPT")


_EXPECTED = "osprey"
_FIELDS: dict[str, object] = {"word": {"type": "string", "enum": [_EXPECTED]}, "sure": {"type": "boolean"}}
_SHAPE = {"type": "object", "properties": _FIELDS, "required": [*_FIELDS], "additionalProperties": False}
_SCHEMA = msgspec.json.encode(_SHAPE).decode()


class _SchemaAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    word: str
    sure: bool


class ObservedCall(Struct, frozen=True):
    """One plain call and its result."""

    session_id: str
    result: CallResult
    transcript: bytes
    changed_files: bool

    @property
    def is_json_rpc(self) -> bool:
        first = self.transcript.strip().partition(b"\n")[0]
        try:
            line = msgspec.json.decode(first, type=dict[str, object])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        return line.get("jsonrpc") == "2.0"


def _accepts_session_id(can: Capabilities, call: ObservedCall) -> None:
    demand(
        call.result.session_id == call.session_id or not can.accepts_session_id,
        "accepts_session_id is claimed, and the session id was not used",
    )


def _reports_usage(can: Capabilities, call: ObservedCall) -> None:
    used = call.result.usage.total > 0
    demand(used or not can.reports_usage, "reports_usage is claimed, and no usage was reported")
    demand(can.reports_usage or not used, "usage was reported, and reports_usage is not claimed")


def _reports_cost(can: Capabilities, call: ObservedCall) -> None:
    reported = call.result.cost_usd is not None
    demand(reported or not can.reports_cost, "reports_cost is claimed, and no cost was reported")
    demand(can.reports_cost or not reported, "cost was reported, and reports_cost is not claimed")


def _answers(can: Capabilities, call: ObservedCall) -> None:
    demand(call.result.text.strip() or not can.answers, "answers is claimed, and the result has no text")


def _starts_program(can: Capabilities, call: ObservedCall) -> None:
    started = call.result.exit_code is not None
    demand(started or not can.starts_program, "starts_program is claimed, and the result has no exit code")
    demand(can.starts_program or not started, "a program was started, and starts_program is not claimed")


def _changes_files(can: Capabilities, call: ObservedCall) -> None:
    demand(can.changes_files or not call.changed_files, "a file changed, and changes_files is not claimed")


def _has_account(can: Capabilities, call: ObservedCall) -> None:
    del call
    demand(can.has_account or not can.environment, "has_account is not claimed, and it needs variables")


def _acp(can: Capabilities, call: ObservedCall) -> None:
    demand(call.is_json_rpc or not can.acp, "acp is claimed, and the transcript is not JSON-RPC")
    demand(can.acp or not call.is_json_rpc, "the transcript is JSON-RPC, and acp is not claimed")


_OF_ONE_CALL: dict[str, Callable[[Capabilities, ObservedCall], None]] = {
    "accepts_session_id": _accepts_session_id,
    "reports_usage": _reports_usage,
    "reports_cost": _reports_cost,
    "answers": _answers,
    "starts_program": _starts_program,
    "changes_files": _changes_files,
    "has_account": _has_account,
    "acp": _acp,
}


async def matches_claims(bench: Bench) -> None:
    """Check the claims that one call can show."""
    call = bench.call(bench.subject.work)
    before = fingerprint(Path(call.cwd))
    result = await bench.spawn(call)
    demand_success(result)
    changed = fingerprint(Path(call.cwd)) != before
    observed = ObservedCall(call.session_id, result, read_transcript(call), changed)
    for check in _OF_ONE_CALL.values():
        check(bench.claims, observed)


async def resumes_or_refuses(bench: Bench) -> None:
    first = await bench.spawn(bench.call(bench.subject.remember))
    second = await bench.resume(bench.call(bench.subject.recall, before=first))
    if not bench.claims.resumes:
        demand(second.code is Code.RESUME_UNSUPPORTED, f"resume without the capability gave {second.code}")
        return
    demand_success(second)
    demand(bench.subject.word in second.text, f"the history of the session is lost: {second.text!r:.200}")
    demand(second.session_id == first.session_id, "the session id changed")


async def takes_a_prompt_of_any_length(bench: Bench) -> None:
    """A prompt in an argument could not exceed 128 kB."""
    if bench.claims.stdin_prompt:
        result = await bench.spawn(bench.call(f"{bench.subject.work}\n\n{_LONG}"))
        demand(result.ok, f"a prompt of 200 kB gave {result.code}: {result.message}")


async def answers_to_a_schema(bench: Bench) -> None:
    """Check structured output in a new and in a resumed session."""
    first = await bench.spawn(bench.call(bench.subject.ask, schema=_SCHEMA))
    demand_success(first)
    if not bench.claims.structured_output:
        demand(not _fits(first.text), "the answer fits the schema, and structured_output is not claimed")
        return
    demand(_fits(first.text), f"structured_output is claimed, and the answer was {first.text!r:.200}")
    if bench.claims.resumes:
        second = await bench.resume(bench.call(bench.subject.ask, before=first, schema=_SCHEMA))
        demand(_fits(second.text), f"in a resumed session the answer was {second.text!r:.200}")


def _fits(text: str) -> bool:
    try:
        return msgspec.json.decode(text, type=_SchemaAnswer).word == _EXPECTED
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False


async def stays_in_its_sandbox(bench: Bench) -> None:
    """Check that nothing is written outside the workspace, even on request."""
    if bench.claims.own_sandbox:
        await bench.spawn(bench.call(bench.subject.trespass))
        demand(
            not bench.has_trespassed(), "own_sandbox is claimed, and a file was written outside the workspace"
        )


async def declares_only_own_variables(bench: Bench) -> None:
    """Check the declared variables: they are passed on, and a wide pattern would pass on secrets."""
    conditional = bench.claims.environment_with.items()
    for pattern in (
        *bench.claims.environment,
        *(name for when, more in conditional for name in (when, *more)),
    ):
        demand(_VARIABLE.fullmatch(pattern), f"{pattern!r} is not a variable name or a prefix")
        taken = [name for name in _FOREIGN_VARIABLES if fnmatchcase(name, pattern)]
        demand(not taken, f"{pattern!r} would pass on {', '.join(taken)}")


async def counts_cost_once(bench: Bench) -> None:
    if not bench.claims.reports_cost:
        return
    first = await bench.spawn(bench.call(bench.subject.remember))
    second = await bench.resume(bench.call(bench.subject.recall, before=first))
    costs, total = (first.cost_usd or 0.0) + (second.cost_usd or 0.0), second.session_cost_usd or 0.0
    demand(abs(costs - total) < 1e-9, f"the attempts cost {costs}, the session {total}")


async def counts_usage_once(bench: Bench) -> None:
    first = await bench.spawn(bench.call(bench.subject.remember))
    second = await bench.resume(bench.call(bench.subject.recall, before=first))
    if second.session_usage is not None:
        used, total = first.usage + second.usage, second.session_usage
        demand(used == total, f"the attempts used {used}, the session {total}")


CLAIMS: dict[str, Check] = {
    "resumes": resumes_or_refuses,
    **dict.fromkeys(_OF_ONE_CALL, matches_claims),
    "structured_output": answers_to_a_schema,
    "own_sandbox": stays_in_its_sandbox,
    "stdin_prompt": takes_a_prompt_of_any_length,
    "environment": declares_only_own_variables,
    "environment_with": declares_only_own_variables,
}
"""The check for each field of Capabilities."""

MORE_CHECKS: tuple[Check, ...] = (counts_cost_once, counts_usage_once)

"""CheckGate: whether a phase's result is good enough, found out on the commit that holds it."""

from __future__ import annotations

from typing import assert_never

from ostler.engine.core.moves import decided, target_of
from ostler.engine.core.step import CheckGate
from ostler.engine.steps.command_gate import run_command
from ostler.engine.steps.criteria import unmet
from ostler.engine.steps.finding import Finding
from ostler.engine.steps.review import Ruling, review
from ostler.engine.steps.signature import signature_of
from ostler.engine.steps.tools import HOST_TROUBLE, Answer, Case, Tools, to_its_end
from ostler.errors import Code, OstlerError
from ostler.files.atomic import write_atomic
from ostler.files.failpoint import reach
from ostler.git.diff import diff_stat
from ostler.model.event import GateDecided, GateWaiting
from ostler.model.notice import Notice, PhaseFailed, PhaseRetried
from ostler.prompt.retry import retry_context, retry_file_name


async def check_gate(step: CheckGate, case: Case, tools: Tools) -> Answer:
    """The gate's verdict; a person's gate is only asked, and costs nothing while it waits."""
    if step.gate.type == "human":
        return Answer(await to_its_end(_ask_person, step, case, tools))
    reach("gate.check")
    try:
        found = await _find_out(step, case, tools)
    except OstlerError as error:
        if error.code in HOST_TROUBLE:
            raise
        found = Finding("could_not_run", f"{error.code}: {error.message}")
    if not isinstance(found, Finding):
        return Answer(found)
    answer = await to_its_end(_answer, step, found, case, tools)
    reach("gate.checked")
    return answer


async def _find_out(step: CheckGate, case: Case, tools: Tools) -> Ruling:
    match step.gate.type:
        case "skip":
            return Finding("skipped")
        case "auto":
            return _look(step, _last_words(step, case, tools))
        case "command":
            return await run_command(step, case, tools)
        case "ai":
            return await review(step, _last_words(step, case, tools), case, tools)
        case "human":
            raise AssertionError("a person is not asked here")
        case _:
            assert_never(step.gate.type)


def _look(step: CheckGate, text: str) -> Finding:
    missing = unmet(step.gate.criteria, text, step.phase)
    if not missing:
        return Finding("pass", "; ".join(step.gate.criteria))
    return Finding("fail", "; ".join(missing), told=text, signature=signature_of("\n".join(missing)))


def _last_words(step: CheckGate, case: Case, tools: Tools) -> str:
    """What the phase said last; empty when it is not there."""
    answer = _earlier_answer(step, tools) if case.state.again else case.state.answer
    try:
        paper = tools.layout.task(case.state.task) / answer
        return paper.read_text("utf-8", "replace") if answer else ""
    except FileNotFoundError:
        return ""


def _earlier_answer(step: CheckGate, tools: Tools) -> str:
    """Of a phase that was completed long ago, and is asked about again as its commit is another one."""
    own = (a for a in tools.journal.attempts(step.task) if a.phase == step.phase and a.status == "succeeded")
    return next((f"{a.transcript.removesuffix('.jsonl')}.answer.md" for a in reversed([*own])), "")


def _answer(step: CheckGate, found: Finding, case: Case, tools: Tools) -> Answer:
    event = GateDecided(
        phase=step.phase,
        gate=step.gate.type,
        verdict=found.verdict,
        reason=found.reason,
        sha=step.sha,
        output=found.output,
        signature=found.signature,
    )
    if found.verdict in ("pass", "skipped"):
        return Answer(event)
    after = decided(case.state, event)
    if after.ending is not None:
        return Answer(
            event, (PhaseFailed(step.phase, after.ending.code or Code.UNKNOWN, after.ending.message),)
        )
    if after.asks_review:
        return Answer(event)  # it is for a person to decide now
    return Answer(event, (_send_back(step, found, case, tools),))


def _send_back(step: CheckGate, found: Finding, case: Case, tools: Tools) -> Notice:
    """Write down why, where the next call looks for it, before anyone is told that it is there."""
    state = case.state
    failed, target = state.phases[state.phase], state.plan.phases[target_of(state)].id
    attempt = failed.retries + 1
    name = retry_file_name(failed.id, attempt)
    text = retry_context(step.phase, target, attempt, tools.clock.now(), found.reason, found.told)
    write_atomic(tools.layout.task(step.task) / name, text.encode("utf-8", "replace"))
    return PhaseRetried(step.phase, target, attempt, name)


def _ask_person(step: CheckGate, case: Case, tools: Tools) -> GateWaiting:
    criteria = f"; look for {'; '.join(step.gate.criteria)}" if step.gate.criteria else ""
    what = case.state.output or f"{step.phase}{_size(step, case, tools)}"
    reason = f"{_why(case)} {what}{criteria}"
    return GateWaiting(step.phase, step.sha, reason)


def _why(case: Case) -> str:
    said = case.state.phases[case.state.phase].gate
    if case.state.asks_review and said is not None and said.verdict == "fail":
        return f"the reviewer still says no ({said.reason}); it is for you to decide on"
    return "the agent asks you to look at" if case.state.asks_review else "waits for you to look at"


def _size(step: CheckGate, case: Case, tools: Tools) -> str:
    """The commit, and how large the change is; it is not worth failing for."""
    if step.sha is None:
        return ""
    if tools.repository is None or case.state.base is None:
        return f" ({step.sha[:10]})"
    try:
        size = diff_stat(tools.repository, case.state.base, step.sha)
    except OstlerError:
        return f" ({step.sha[:10]})"
    files = "1 file" if size.files == 1 else f"{size.files} files"
    return f" ({step.sha[:10]}: {files}, +{size.insertions} -{size.deletions})"

"""What a successful call proves about its phase (contract.md, "Evidence")."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code, Warn
from ostler.model.event import Verdict
from ostler.model.task import Weight
from ostler.prompt.completion import check_phase_completion

_LONGEST_REASON = 1000  # characters; the whole answer is in the transcript


class Finding(Struct, frozen=True):
    verdict: Verdict
    code: Code | None = None
    message: str = ""
    warnings: tuple[str, ...] = ()


class Witness(Struct, frozen=True):
    """What is known of the call and its workspace."""

    text: str
    prompt: str
    phase: str
    weight: Weight
    speaks: bool  # the executor's final text is an answer
    changed: bool = False  # the workspace is not as it was when the task began


def hinges_on_changes(witness: Witness) -> bool:
    """Whether the workspace must be looked at to judge; to ask git takes several processes."""
    return judge(replace(witness, changed=True)) != judge(replace(witness, changed=False))


def judge(witness: Witness) -> Finding:
    mark = check_phase_completion(witness.text, witness.phase, witness.prompt)
    if mark is not None and mark.kind == "blocked":
        return Finding("blocked", Code.AGENT_BLOCKED, mark.reason[:_LONGEST_REASON])
    if mark is not None:
        return Finding("complete")
    if witness.changed and (witness.weight == "trivial" or not witness.speaks):
        return Finding("complete", warnings=(Warn.NO_MARK,))
    return Finding("continue")

"""What a successful call proves about its phase (contract.md, "Evidence")."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code, Warn
from ostler.model.event import Verdict
from ostler.model.task import Weight
from ostler.prompt.completion import check_phase_completion
from ostler.prompt.report import Said, Word

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
    structured: bool = False  # it was held to ANSWER_SCHEMA
    document: bool = False  # the text itself is the result
    word: Word | None = None  # said by `ostler report` or in its state file


def hinges_on_changes(witness: Witness) -> bool:
    """Whether the workspace must be looked at to judge; to ask git takes several processes."""
    return judge(replace(witness, changed=True)) != judge(replace(witness, changed=False))


_SAID: dict[Said, Verdict] = {
    "complete": "complete",
    "blocked": "blocked",
    "paused": "paused",
    "needs_review": "review",
}


def judge(witness: Witness) -> Finding:
    """The first that says anything: its own report, the structured answer, its mark, what it changed."""
    if witness.word is not None:
        code = Code.AGENT_BLOCKED if witness.word.said == "blocked" else None
        return Finding(_SAID[witness.word.said], code, witness.word.reason[:_LONGEST_REASON])
    if witness.document:
        return Finding("complete")
    mark = check_phase_completion(witness.text, witness.phase, witness.prompt, structured=witness.structured)
    if mark is not None and mark.kind == "blocked":
        return Finding("blocked", Code.AGENT_BLOCKED, mark.reason[:_LONGEST_REASON])
    if mark is not None and mark.kind == "continue":
        return Finding("continue")
    if mark is not None:
        return Finding("complete")
    if witness.changed and (witness.weight == "trivial" or not witness.speaks):
        return Finding("complete", warnings=(Warn.NO_MARK,))
    return Finding("continue")

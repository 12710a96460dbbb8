"""A document: what its writer is given, and its text, written where the task says."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.engine.core.step import Checkpoint
from ostler.engine.steps.briefing import told_since
from ostler.engine.steps.tools import Case, Tools
from ostler.errors import Code, OstlerError, PathEscape
from ostler.files.atomic import write_atomic
from ostler.files.beneath import exists_and_not_empty, read_beneath, write_beneath
from ostler.files.failpoint import reach
from ostler.model.attempt import Attempt
from ostler.model.event import CheckpointMade
from ostler.model.task import Input, Task
from ostler.prompt.completion import without_marks
from ostler.prompt.document import DocumentPrompt, Upstream, build_prompt, revise
from ostler.prompt.skill import SkillContent, load_skill_content
from ostler.prompt.skill_lock import changed_since_lock
from ostler.prompt.template import WRITE, load_template, render_template
from ostler.prompt.variables import build_template_vars

_LARGEST_INPUT = 10 * 1024 * 1024


class Writing(Struct, frozen=True):
    """What the prompts of one document are made of."""

    whole: DocumentPrompt
    feedback: str  # why it is written again; empty: it is not
    warnings: tuple[str, ...] = ()

    @property
    def form(self) -> None:
        """A document is free text."""

    @property
    def system(self) -> str:
        return self.whole.system

    def prompt(self, knows_task: bool, how: str, summary: str = "") -> str:
        """What is asked, given whether the session knows the task."""
        return revise(self.feedback) if knows_task and self.feedback else self.whole.user

    async def fresh_prompt(self, executor: str, how: str, attempts: list[Attempt]) -> str:
        """The same for a writer who remembers nothing."""
        return self.whole.user


def brief_writer(case: Case, tools: Tools) -> Writing:
    """Gather the skill, the context and the inputs; a declared input that is missing fails the task."""
    task, root = case.task, tools.layout.root
    skill = _skill(task, tools)
    feedback = _feedback(case, tools)
    inputs = [found for one in task.inputs if (found := _read_input(one, root)) is not None]
    revision = task.revision + case.state.phases[case.state.phase].retries
    prompt = build_prompt(
        skill,
        replace(task, revision=revision),
        read_context(tools),
        [*inputs, *(_earlier(case, tools, feedback) if feedback else ())],
        tools.settings.documents.max_context_tokens,
    )
    left_out = (f"references left out to fit: {', '.join(prompt.dropped)}",) if prompt.dropped else ()
    changed = changed_since_lock(task.skill, root, tools.settings.skills) if task.skill else ""
    return Writing(prompt, feedback, (*skill.warnings, *left_out, *filter(None, [changed])))


def _skill(task: Task, tools: Tools) -> SkillContent:
    """What the writer knows; without a skill, what the template of the phase says."""
    root = tools.layout.root
    if task.skill:
        return load_skill_content(task.skill, root, tools.settings.skills)
    own = render_template(load_template(WRITE, "", root).text, build_template_vars(task, WRITE))
    return SkillContent(WRITE, "", own)


def read_context(tools: Tools) -> str | None:
    """Every Markdown file of the context directory, in the order of their names; None where there is none."""
    root, folder = tools.layout.root, tools.settings.documents.context
    found = sorted(path.name for path in (root / folder).glob("*.md"))
    texts = [(name, _read_context(root, f"{folder}/{name}").strip()) for name in found]
    told = [(name, text) for name, text in texts if text]
    if len(told) == 1:
        return told[0][1]
    return "\n\n".join(f"### {name}\n{text}" for name, text in told) or None


def _read_context(root: Path, path: str) -> str:
    """One that is there and cannot be read fails the task; it would be written without the facts."""
    try:
        return read_beneath(root, path, _LARGEST_INPUT).decode("utf-8", "replace")
    except OstlerError as error:
        if error.code not in (Code.INPUT_NOT_FOUND, Code.PATH_ESCAPE):
            raise
        raise OstlerError(Code.CONTEXT_NOT_FOUND, error.message, error.hint) from error


def write_document(step: Checkpoint, case: Case, tools: Tools) -> CheckpointMade:
    """Put the last answer where the task says; the same however often it is tried."""
    home, root = tools.layout.task(step.task), tools.layout.root
    answer = _answer(case, tools)
    path = case.task.output.path if case.task.output else ""
    data = f"{without_marks(answer).strip()}\n".encode()
    reach("document.write")
    if case.state.output is None:
        _keep_stranger(root, path, data, home)
    write_beneath(root, path, data)
    reach("document.written")
    return CheckpointMade(step.phase, output=path)


def _keep_stranger(root: Path, path: str, data: bytes, home: Path) -> None:
    """What stood there before the task began is not lost."""
    if exists_and_not_empty(root, path) and (before := read_beneath(root, path, _LARGEST_INPUT)) != data:
        write_atomic(home / "replaced.md", before)


def _read_input(one: Input, root: Path) -> Upstream | None:
    try:
        text = _read(root, one.path)
    except PathEscape as error:  # there is nothing below the project that it could mean
        raise OstlerError(Code.INPUT_NOT_FOUND, error.message, error.hint) from error
    except OstlerError as error:
        if one.optional and error.code is Code.INPUT_NOT_FOUND:
            return None
        raise
    return Upstream(one.path, one.description, text)


def _read(root: Path, path: str) -> str:
    text = read_beneath(root, path, _LARGEST_INPUT).decode("utf-8", "replace")
    if not text.strip():
        raise OstlerError(Code.INPUT_NOT_FOUND, f"{path} is empty", "write it, or take it out of the inputs")
    return text


def _feedback(case: Case, tools: Tools) -> str:
    word, retry = told_since(case, tools)
    said = [word, *((retry.reason, retry.output) if retry else ())]
    return "\n\n".join(part.strip() for part in said if part.strip())


def _earlier(case: Case, tools: Tools, feedback: str) -> tuple[Upstream, ...]:
    """For a writer who does not remember: what was written, and what was said of it."""
    told = Upstream("review", "Review feedback", feedback)
    if not case.state.answer:
        return (told,)
    return (Upstream(case.state.answer, "Previous output", _answer(case, tools)), told)


def _answer(case: Case, tools: Tools) -> str:
    paper = tools.layout.task(case.state.task) / case.state.answer
    try:
        return paper.read_text("utf-8", "replace")
    except FileNotFoundError:
        gone = f"the text of the last answer is gone: {paper}"
        raise OstlerError(Code.NO_RESULT, gone, f"ostler retry {case.state.task}") from None

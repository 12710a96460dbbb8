"""Document tasks: builds the prompt and writes the result to its output path."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import Settings
from ostler.engine.core.step import Checkpoint
from ostler.engine.steps.agent_call.dialogue import read_dialogue
from ostler.engine.steps.agent_call.inputs import read_inputs
from ostler.engine.steps.agent_call.prompt import read_feedback
from ostler.engine.steps.agent_call.provided_files import (
    LARGEST_FILE,
    FileCopy,
    document_name,
    find_document_file,
    provide_files,
    read_document_file,
)
from ostler.engine.steps.agent_call.review import has_review
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.worktree import working_directory
from ostler.errors import Code, OstlerError, WarningCode
from ostler.files.atomic import remove_temporary_files, write_atomic
from ostler.files.beneath import exists_and_not_empty, read_beneath, write_beneath
from ostler.files.document_versions import compute_version, keep_version
from ostler.files.failpoint import reach
from ostler.model.attempt import Attempt
from ostler.model.event import CheckpointMade, Record
from ostler.model.plan import DOCUMENT_PHASE
from ostler.model.state import State
from ostler.model.task import Task
from ostler.prompt.completion import read_document_mark, strip_final_mark
from ostler.prompt.dialogue import format_dialogue
from ostler.prompt.document import (
    DocumentPrompt,
    UpstreamOutput,
    build_answered_prompt,
    build_prompt,
    build_revision_prompt,
    describe_optional_file,
)
from ostler.prompt.replies import strip_replies
from ostler.prompt.skill_files import SkillFilesNote, describe_skill_files
from ostler.prompt.template import find_template, render_template
from ostler.prompt.variables import build_template_vars
from ostler.secrets.redact import is_redacted
from ostler.skills.content import SkillContent, load_skill_content
from ostler.skills.lock import check_lock
from ostler.skills.outputs import check_output, is_always_file
from ostler.skills.working_directory import SKILL

_LARGEST_CONTEXT = 10 * 1024 * 1024


class DocumentCallPrompt(Struct, frozen=True):
    """The prompts of one document."""

    prompts: DocumentPrompt
    feedback: str  # reason of the revision; empty: first version
    answers: str = ""  # the last question and its answer, for the session that asked
    warnings: tuple[str, ...] = ()
    files: SkillFilesNote = SkillFilesNote()
    skill_directory: str = (
        ""  # the copy of the skill that the agent can read; empty: everything is in the prompt
    )
    file: str = ""  # the name of the document that the agent writes itself; empty: the answer is the document
    template_source: str = ""  # empty: a skill is the prompt
    has_review: bool = False  # the agent answers comments after its document

    @property
    def form(self) -> None:
        """None: a document is free text."""

    @property
    def system(self) -> str:
        return self._add_note(self.files.for_programs)

    @property
    def model_system(self) -> str:
        """The system prompt for a model API, which can neither run nor write anything."""
        return self._add_note(self.files.for_models)

    def _add_note(self, note: str) -> str:
        return "\n\n".join(filter(None, (self.prompts.system_prompt, note)))

    def prompt(self, knows_task: bool, how: str, summary: str = "") -> str:
        """Return the whole prompt, or only the answer or the feedback in a session that has the task."""
        if knows_task and self.answers:
            return build_answered_prompt(self.answers, self.file)
        if knows_task and self.feedback:
            return build_revision_prompt(self.feedback, self.file, has_review=self.has_review)
        return self.prompts.user_message

    async def fresh_prompt(self, executor: str, how: str, attempts: list[Attempt]) -> str:
        """Return the prompt for a new session."""
        return self.prompts.user_message


def build_document_prompt(
    context: TaskContext, services: StepServices, records: Iterable[Record]
) -> DocumentCallPrompt:
    """Collect skill, context and inputs; raise OstlerError if a required input is missing.

    The files of the skill and the inputs are copied into the working directory of the agent.
    """
    task, root = context.task, services.layout.root
    skill, source = load_document_skill(task, root, services.settings)
    dialogue = read_dialogue(context, services, records).exchanges
    answered = bool(dialogue) and dialogue[-1].seq == context.state.feedback_seq
    feedback = "" if answered else _collect_feedback(context, services)
    read = read_inputs(task, root)
    inputs = [one.upstream for one in read]
    if dialogue:
        inputs.append(UpstreamOutput("dialogue", "Your questions and the answers", format_dialogue(dialogue)))
    if feedback:
        inputs += _earlier_version(context, services, feedback)
    prompts, files = _build_prompts(skill, inputs, context, services)
    directory = working_directory(context.state, services)
    provide_files(directory, skill if files.size else None, [FileCopy(one.path, one.content) for one in read])
    name = document_name(context)
    return DocumentCallPrompt(
        prompts,
        feedback,
        format_dialogue(dialogue[-1:]) if answered else "",
        _collect_warnings(skill, prompts, task, services),
        _add_optional_file(files, name),
        str(directory / SKILL) if files.size else "",
        find_document_file(context, services),
        source,
        has_review(task.id, services),
    )


def _build_prompts(
    skill: SkillContent, inputs: list[UpstreamOutput], context: TaskContext, services: StepServices
) -> tuple[DocumentPrompt, SkillFilesNote]:
    """Return the prompts, and the note about files of the skill that are not in them."""
    revision = context.task.revision + context.state.phases[context.state.phase].returns
    build = partial(
        build_prompt,
        skill,
        replace(context.task, revision=revision),
        read_context_files(services.layout.root, services.settings),
        inputs,
        services.settings.documents.max_context_tokens,
    )
    note = describe_skill_files(skill, str(working_directory(context.state, services) / SKILL))
    prompts = build()
    if not skill.has_more_files and not prompts.dropped:
        return prompts, SkillFilesNote()
    return build(reserved=note.size), note


def _collect_warnings(
    skill: SkillContent, prompts: DocumentPrompt, task: Task, services: StepServices
) -> tuple[str, ...]:
    left_out = (f"references left out to fit: {', '.join(prompts.dropped)}",) if prompts.dropped else ()
    root, settings = services.layout.root, services.settings.skills
    changed = check_lock(task.skill, root, settings) if task.skill else ""
    return (*skill.warnings, *left_out, *filter(None, [changed]))


def _add_optional_file(files: SkillFilesNote, name: str) -> SkillFilesNote:
    """Add, for programs, that a document which could be an answer may be a file."""
    if not name or is_always_file(name):
        return files
    note = "\n\n".join(filter(None, (files.for_programs, describe_optional_file(name))))
    return replace(files, for_programs=note)


def load_document_skill(task: Task, root: Path, settings: Settings) -> tuple[SkillContent, str]:
    """Return the skill of the task, or a template and its source."""
    if task.skill:
        return load_skill_content(task.skill, root, settings.skills), ""
    own_text = task.prompts.get(DOCUMENT_PHASE, "")
    template = find_template(DOCUMENT_PHASE, own_text, settings.phases.prompts, root)
    own = render_template(template.text, build_template_vars(task, DOCUMENT_PHASE))
    return SkillContent(DOCUMENT_PHASE, "", own), template.shown_source


def read_context_files(root: Path, settings: Settings) -> str | None:
    """Return the Markdown files of the context directory, sorted by name; None if there are none."""
    folder = settings.documents.context
    names = sorted(path.name for path in (root / folder).glob("*.md"))
    texts = [(name, _read_context_file(root, f"{folder}/{name}").strip()) for name in names]
    texts_by_name = [(name, text) for name, text in texts if text]
    if len(texts_by_name) == 1:
        return texts_by_name[0][1]
    return "\n\n".join(f"### {name}\n{text}" for name, text in texts_by_name) or None


def _read_context_file(root: Path, path: str) -> str:
    """Return a context file; raise OstlerError if it is unreadable, as its facts would be missing."""
    try:
        return read_beneath(root, path, _LARGEST_CONTEXT).decode("utf-8", "replace")
    except OstlerError as error:
        if error.code not in (Code.INPUT_NOT_FOUND, Code.PATH_ESCAPE):
            raise
        raise OstlerError(Code.CONTEXT_NOT_FOUND, error.message, error.hint) from error


def write_document(step: Checkpoint, context: TaskContext, services: StepServices) -> CheckpointMade:
    """Write the file of the agent, or its last answer, to the output path; repeating it changes nothing."""
    task_dir, root = services.layout.task(step.task), services.layout.root
    answer = _read_answer(context, services)
    if has_review(step.task, services):
        answer = strip_replies(answer)
    mark = read_document_mark(answer)
    if mark is not None and mark.kind == "blocked":
        # The phase was skipped after its writer had asked for something: there is no document.
        return CheckpointMade(step.phase)
    path = context.task.output.path if context.task.output else ""
    # Again, because the settings and the links may have changed, and older tasks were not checked.
    check_output(root, path, services.settings.documents)
    written = read_document_file(context, services)
    data = strip_final_mark(answer).encode("utf-8", "replace") if written is None else written
    before, digest = _find_last_digest(context.state), compute_version(data)
    reach("document.write")
    _keep_replaced_file(root, path, {before, digest}, task_dir)
    if (folder := (root / path).parent).is_dir():
        remove_temporary_files(folder)  # of a killed run
    keep_version(task_dir, path, data)
    write_beneath(root, path, data)
    reach("document.written")
    redacted = (WarningCode.SECRETS_REDACTED,) if written is None and is_redacted(data) else ()
    unchanged = (WarningCode.NO_CHANGES,) if digest == before else ()
    return CheckpointMade(step.phase, tree=digest, output=path, warnings=(*redacted, *unchanged))


def _find_last_digest(state: State) -> str:
    """Return the digest of the version that this task has written; empty: none, or unknown."""
    return "" if state.output is None else state.tree


def _keep_replaced_file(root: Path, path: str, own: Container[str], task_dir: Path) -> None:
    """Keep a copy of the file that the document replaces, unless this task has written it.

    A person may also have changed a document before it was rejected.
    """
    if not exists_and_not_empty(root, path):
        return
    before = read_beneath(root, path, LARGEST_FILE)
    if compute_version(before) in own:
        return
    suffix = PurePosixPath(path).suffix
    for number in count(1):
        copy = task_dir / (f"replaced{suffix}" if number == 1 else f"replaced-{number}{suffix}")
        if not copy.exists():
            write_atomic(copy, before)
        elif copy.read_bytes() != before:
            continue
        return


def _collect_feedback(context: TaskContext, services: StepServices) -> str:
    feedback, retry = read_feedback(context, services)
    if retry is not None and retry.review:
        return retry.review
    parts = [feedback, *((retry.reason, retry.output) if retry else ())]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _earlier_version(
    context: TaskContext, services: StepServices, feedback: str
) -> tuple[UpstreamOutput, ...]:
    """Return the previous version and its review, for a session without history."""
    review = UpstreamOutput("review", "Review feedback", feedback)
    answer = _read_answer(context, services) if context.state.answer else ""
    mark = read_document_mark(answer)
    if not answer or (mark is not None and mark.kind == "blocked"):
        return (review,)
    if name := find_document_file(context, services):
        text = (
            f"The previous version is the file {name} in your working directory. Its summary was:\n\n{answer}"
        )
        return (UpstreamOutput(name, "Previous output", text), review)
    document = strip_final_mark(strip_replies(answer))
    return (UpstreamOutput(context.state.answer, "Previous output", document), review)


def _read_answer(context: TaskContext, services: StepServices) -> str:
    path = services.layout.task(context.state.task) / context.state.answer
    try:
        # Without a translation of line ends: a document is written as it was answered.
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        message = f"the file of the last answer is missing: {path}"
        raise OstlerError(Code.NO_RESULT, message, f"ostler retry {context.state.task}") from None

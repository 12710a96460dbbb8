"""The names of the marketing agents around `AgentExecutor`: the workspace, skills, and a mock client.

    from ostler import Task
    from ostler.compat import AgentExecutor, MockClaudeClient, WorkspaceManager

    async def main():
        executor = AgentExecutor(MockClaudeClient(), WorkspaceManager("."))
        result = await executor.execute(Task("Who buys hay", skill="research"))
        print(result.status, result.output_path)

Names are in snake_case, as everywhere in Python; functions that only read files are not async.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from ostler.config.settings import DocumentsSettings, SkillsSettings
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.beneath import read_beneath, write_beneath
from ostler.files.front_matter import split_front_matter
from ostler.llm import timeouts
from ostler.llm.client import ClaudeRequest, ClaudeResponse
from ostler.llm.failure import ModelError
from ostler.model.ids import require_task_id
from ostler.model.status import REOPENABLE, TERMINAL, TaskStatus, read_status
from ostler.project.apply_action import apply_action
from ostler.project.project import Project
from ostler.project.running.execution import ExecutionError, to_execution_code
from ostler.skills.content import SkillContent, load_skill_content
from ostler.skills.location import find_skills
from ostler.skills.outputs import check_output
from ostler.testing import mocks

ModelTier = Literal["opus", "sonnet", "haiku"]
SkillName = str  # the name of a directory with a SKILL.md
_LARGEST_FILE = 10 * 1024 * 1024
_RUN_SETS = "only a run sets it: AgentExecutor.execute, or ostler run"


class AgentMeta(Struct, frozen=True):
    """A skill without its text."""

    name: str
    description: str
    squad: str | None  # None: a foundation skill, whose output is a context file
    reference_files: tuple[str, ...]
    path: str  # of its SKILL.md


class Frontmatter(NamedTuple):
    """The values above a text, and the text."""

    data: dict[str, Any]
    body: str


def load_skill_meta(skill_name: str, project_root: str | Path = ".") -> AgentMeta:
    """Return the skill without its text; raise WorkspaceError with SKILL_NOT_FOUND."""
    return _to_meta(load_skill_content(skill_name, Path(project_root)))


def parse_frontmatter(text: str, where: str = "front matter") -> Frontmatter:
    """Split a text; without front matter the data is empty. Raise WorkspaceError for invalid YAML."""
    found = split_front_matter(text, where)
    return Frontmatter(found.values, found.body)


class SquadMap(Mapping[str, str | None]):
    """The squad of each skill of a project, read on use; None for a foundation skill."""

    def __init__(self, project_root: str | Path = ".", settings: SkillsSettings | None = None) -> None:
        self._root = Path(project_root)
        self._settings = settings or SkillsSettings()

    def __getitem__(self, skill: str) -> str | None:
        try:
            return load_skill_content(skill, self._root, self._settings).squad
        except OstlerError as error:
            if error.code is not Code.SKILL_NOT_FOUND:
                raise
            raise KeyError(skill) from error

    def __iter__(self) -> Iterator[str]:
        return (skill.name for skill in find_skills(self._root, self._settings))

    def __len__(self) -> int:
        return len(find_skills(self._root, self._settings))


SKILL_SQUAD_MAP = SquadMap()
"""The squads of the project in the working directory: skills are files of a project, not a list in code."""


class WorkspaceManager:
    """The files and the tasks of a project; pass it to AgentExecutor instead of a path."""

    def __init__(self, root: str | Path = ".", environ: Mapping[str, str] | None = None) -> None:
        self.root = Path(root)
        self._environ = dict(os.environ if environ is None else environ)
        self._environ.pop("OSTLER_PROJECT", None)  # the explicit directory has precedence

    def context_exists(self) -> bool:
        """Return whether the project has a context file."""
        return any(self._context_files())

    def read_context(self) -> str:
        """Return the context files, by name; raise WorkspaceError with CONTEXT_NOT_FOUND if there is none."""
        texts = [self.read_file(path).strip() for path in self._context_files()]
        if not texts:
            folder = self._documents().context
            raise OstlerError(
                Code.CONTEXT_NOT_FOUND,
                f"{folder} has no Markdown file",
                f"write {folder}/product-marketing-context.md",
            )
        return "\n\n".join(texts)

    def read_file(self, path: str) -> str:
        """Return a file of the project; raise WorkspaceError: INPUT_NOT_FOUND or PATH_ESCAPE."""
        return read_beneath(self.root, path, _LARGEST_FILE).decode("utf-8", "replace")

    def write_file(self, path: str, content: str) -> str:
        """Write a document, atomically, and return its path; other files of the project are refused."""
        check_output(self.root, path, self._documents())
        write_beneath(self.root, path, content.encode("utf-8", "replace"))
        return path

    def write_output(self, squad: str, skill: str, task_id: str, content: str) -> str:
        """Write outputs/SQUAD/SKILL/TASK.md and return its path."""
        for name in (squad, skill):
            if not name or name.startswith(".") or "/" in name:
                raise UsageError(f"invalid name {name!r:.80}", "use the name of a directory")
        folder = f"{self._documents().outputs}/{squad}/{skill}"
        return self.write_file(f"{folder}/{require_task_id(task_id)}.md", content)

    def task_status(self, task_id: str) -> TaskStatus:
        """Return the status of a task; raise UsageError for an unknown one."""
        with self._open() as project:
            return project.state(project.resolve(task_id)).status

    def update_task_status(self, task_id: str, status: TaskStatus | str, reason: str = "") -> TaskStatus:
        """Record the decision that leads to a status, and return the new status.

        pending, paused, cancelled, approved and revision are decisions of a person. Raise UsageError for a
        status that only a run sets, and for a transition that is not allowed.
        """
        with self._open() as project:
            task = project.resolve(task_id)
            current = project.state(task).status
            if (wanted := _read_status(status)) is not current:
                action, values = _find_action(current, wanted, reason)
                # In a thread, because it needs an event loop of its own.
                with ThreadPoolExecutor(1) as thread:
                    thread.submit(apply_action, project, self._environ, task, action, **values).result()
            return project.state(task).status

    def _open(self) -> Project:
        return Project.open(self.root, self._environ, create=True)

    def _documents(self) -> DocumentsSettings:
        with self._open() as project:
            return project.settings.documents

    def _context_files(self) -> list[str]:
        folder = self._documents().context
        return sorted(f"{folder}/{path.name}" for path in (self.root / folder).glob("*.md"))


FileSystemWorkspaceManager = WorkspaceManager


class MockClaudeClient(mocks.MockClaudeClient):
    """The mock client; an abort raises an ExecutionError."""

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        with execution_errors():
            return await super().complete(request)


async def cancellable_sleep(ms: float, signal: asyncio.Event | None = None) -> None:
    """Wait for milliseconds; raise ExecutionError with ABORTED when the signal is set before or meanwhile."""
    with execution_errors():
        await timeouts.cancellable_sleep(ms / 1000, signal)


@contextmanager
def execution_errors() -> Generator[None]:
    """Turn a ModelError into an ExecutionError, with one of its thirteen codes."""
    try:
        yield
    except ModelError as error:
        raise ExecutionError(error.message, to_execution_code(error.code), "", error) from error


def _to_meta(skill: SkillContent) -> AgentMeta:
    return AgentMeta(skill.name, skill.description, skill.squad, skill.reference_files, skill.path)


def _read_status(status: TaskStatus | str) -> TaskStatus:
    try:
        return read_status(str(status))
    except ValueError:
        raise UsageError(f"unknown status {status!r:.80}", f"use one of {', '.join(TaskStatus)}") from None


def _find_action(current: TaskStatus, wanted: TaskStatus, reason: str) -> tuple[str, dict[str, str]]:
    match wanted:
        case TaskStatus.PENDING:
            return ("retry" if current in REOPENABLE & TERMINAL else "resume"), {}
        case TaskStatus.PAUSED:
            return "pause", {}
        case TaskStatus.CANCELLED:
            return "cancel", {"reason": reason}
        case TaskStatus.APPROVED:
            return "approve", {"text": reason}
        case TaskStatus.REVISION:
            return "reject", {"text": reason}
        case _:
            raise UsageError(f"the status cannot be changed from {current} to {wanted}", _RUN_SETS)

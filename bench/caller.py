"""Run agent calls as a task does: through AgentCaller, with a journal, prompts and transcripts.

P1, P2, P3, P4, P7 and P12 share this module, so that only one file changes with the interface of a call.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from ostler.calls.attempts.attempt import AttemptRunner
from ostler.calls.attempts.session import AgentSession
from ostler.calls.call import AgentCaller
from ostler.calls.request import CallRequest
from ostler.clock import SystemClock
from ostler.engine.core.evolve import evolve
from ostler.executors.registry import ExecutorRegistry
from ostler.model.attempt import Attempt
from ostler.model.event import CallEnded, Record
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.rows import build_row
from ostler.model.task import Task
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.call_services import create_call_services
from ostler.project.project import Project
from ostler.store.accounts.sqlite import open_accounts
from ostler.store.sqlite.store import SqliteStore

SETTINGS = """[run]
executor = "bench"

[executors.bench]
type = "{type}"
command = "{command}"

[pools.medium]
size = {slots}

[sandbox]
tier = "{tier}"

[host]
start_stagger_seconds = 0  # it spreads the starts of real agents and only delays an instant one
"""
PROMPT = "Say hello. " * 400  # 4.4 kB, the size of a usual prompt


class Caller:
    """Runs calls of one agent program in one project."""

    def __init__(
        self,
        root: Path,
        type: str,
        command: Path | str,
        slots: int = 8,
        environ: Mapping[str, str] = {},
        tier: str = "supervised",
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        (root / "ostler.toml").write_text(SETTINGS.format(type=type, command=command, slots=slots, tier=tier))
        # Outside of the project, as for a user: where an agent can write to the cache, nothing there is used.
        (home := root.with_name("home")).mkdir(exist_ok=True)
        environ = {"PATH": os.environ["PATH"], "HOME": str(home), **environ}
        self.project = Project.open(root, environ, create=True)
        settings, database = self.project.settings, self.project.layout.database
        self._clock, self._numbers = SystemClock(), count(1)
        self._writer, self._ledger = SqliteStore(database).open_writer(), SqliteStore(database).open_ledger()
        self.task = self.project.add(Task("Say hello")).id
        self._state = self.project.state(self.task)
        registry, runner = ExecutorRegistry(), DefaultCommandRunner()
        self._caller = AgentCaller(
            settings,
            lambda model: registry.make_for(model, settings.executors, runner),
            AttemptRunner(settings, environ, self._writer, self._clock, "bench", str(root)),
            create_call_services(self.project, self._ledger, open_accounts(environ), self._clock, None),
            self._clock,
        )

    @property
    def attempts(self) -> list[Attempt]:
        """Return the attempts in the journal."""
        return self.project.journal.attempts(self.task)

    async def call(self) -> None:
        """Run one call and record it; raises RuntimeError when the agent does not succeed."""
        outcome = await self._caller.run(self._create_request())
        if not outcome.result.ok:
            raise RuntimeError(f"the call ended with {outcome.result.code}: {outcome.result.message}")
        ended = CallEnded("implement", 1, "continue", answer=outcome.answer)
        # With the name of another step, so that it changes nothing in the state.
        record = Record(self.task, self._state.seq + 1, self._clock.now(), ended, "bench")
        self._state = evolve(self._state, record)
        await self._writer.append(record, build_row(self._state))

    async def close(self) -> None:
        await self._writer.close()
        self._ledger.close()
        self.project.journal.close()

    def _create_request(self) -> CallRequest:
        layout = self.project.layout

        async def build_fresh_prompt(executor: str, ending: str, attempts: list[Attempt]) -> str:
            return PROMPT

        return CallRequest(
            task=self.task,
            key=f"{self.task}/{next(self._numbers)}/call",
            phase="implement",
            iteration=1,
            role="",
            pool=ModelPool((ModelConfig("bench", "bench"),)),
            cwd=str(layout.root),
            task_dir=layout.task(self.task),
            attempts=[],
            select_session=lambda executor, can_resume, attempts: AgentSession(
                str(uuid.uuid4()), started=False
            ),
            build_prompt=lambda continued, ending: PROMPT,
            build_fresh_prompt=build_fresh_prompt,
        )

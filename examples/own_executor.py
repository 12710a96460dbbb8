"""Write an executor: this one writes a file and answers; a real one would call your agent."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from ostler import Ostler, Task
from ostler.executors import (
    AgentCall,
    AgentEvent,
    CallResult,
    Capabilities,
    CommandRunner,
    ExecutorRegistry,
    ExecutorSettings,
)
from sample import make_repository

SETTINGS = """
run.executor = "notes"
documents.executor = "notes"
phases.plans.small = ["implement"]
"""


class NotesExecutor:
    """Appends the length of each prompt to notes.txt."""

    capabilities = Capabilities(starts_program=False)

    def __init__(self, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        self.name = name

    def validate_availability(self) -> None:
        """Nothing has to be installed."""

    async def spawn(self, call: AgentCall, on_event: Callable[[AgentEvent], None]) -> CallResult:
        with (Path(call.cwd) / "notes.txt").open("a") as notes:
            notes.write(f"{call.agent}: a prompt of {len(call.prompt)} characters\n")
        return CallResult(None, text="I took a note. <phase_complete>true</phase_complete>")

    async def resume(self, call: AgentCall, on_event: Callable[[AgentEvent], None]) -> CallResult:
        return await self.spawn(call, on_event)


def make_registry() -> ExecutorRegistry:
    registry = ExecutorRegistry()
    registry.register("notes", NotesExecutor)
    return registry


async def main(root: Path) -> None:
    async with Ostler.open(root, executors=make_registry()) as ostler:
        task = await ostler.add(Task(title="Take a note"))
        outcome = await ostler.run(task.id)
    print(f"{outcome.status}: {outcome.diffstat}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(make_repository(Path(folder) / "sample", **{"ostler.toml": SETTINGS})))

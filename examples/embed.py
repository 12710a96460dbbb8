"""Embed Ostler in an asyncio program: add two tasks, run them at the same time, and follow their events."""

import asyncio
import tempfile
from pathlib import Path

from ostler import Ostler, Outcome, Task
from sample import make_repository

SETTINGS = '[run]\nexecutor = "scripted"\n[phases.plans]\nsmall = ["implement"]\n'
SCRIPT = """
```ostler-script
- edit: {{path: {path}, content: "{text}"}}
- say: Done. <phase_complete>true</phase_complete>
```
"""


async def follow(ostler: Ostler) -> None:
    """Print the phases and the end of each task as they are recorded."""
    async for event in ostler.events(follow=True):
        if event["type"] in ("phase_started", "task_completed"):
            print(f"{event['type']:15} {event['task_id']}")


async def main(root: Path) -> list[Outcome]:
    async with Ostler.open(root) as ostler:
        for path, text in (("hello.txt", "Hello."), ("bye.txt", "Goodbye.")):
            await ostler.add(Task(title=f"Write {path}", body=SCRIPT.format(path=path, text=text)))
        follower = asyncio.create_task(follow(ostler))
        outcomes = await ostler.run_all(jobs=2)
        await asyncio.sleep(0.5)
        follower.cancel()
    for outcome in outcomes:
        files = outcome.diffstat.files if outcome.diffstat else 0
        print(f"{outcome.status}: {outcome.branch}, {files} file, {outcome.summary!r}")
    return outcomes


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(make_repository(Path(folder) / "sample", **{"ostler.toml": SETTINGS})))

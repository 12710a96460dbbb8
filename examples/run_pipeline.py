"""Run a pipeline: a researcher writes a document, a person approves it, an editor continues with it."""

import asyncio
import tempfile
from pathlib import Path

from own_executor import SETTINGS, make_registry

from ostler import Ostler
from sample import make_repository

SKILL = """---
name: {name}
description: {about}
squad: news
---
Do it well.
"""
PIPELINE = """
goal: An article about hay
steps:
  - {id: draft, skill: research}
  - review: human
  - {id: final, skill: edit}
"""
FILES = {
    "ostler.toml": SETTINGS,
    ".agents/skills/research/SKILL.md": SKILL.format(name="research", about="finds facts"),
    ".agents/skills/edit/SKILL.md": SKILL.format(name="edit", about="edits texts"),
    ".agents/pipelines/article.yaml": PIPELINE,
}


async def main(root: Path) -> None:
    async with Ostler.open(root, executors=make_registry()) as ostler:
        run = await ostler.start_pipeline("article")
        await ostler.run_all()
        for task in ostler.tasks():
            if task.status == "needs_review":
                print(f"{task.step}: approved {task.output_path}")
                await ostler.act(task.id, "approve", text="Good.")
        outcomes = await ostler.run_all()
    print(f"{run}: {[str(outcome.status) for outcome in outcomes]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(make_repository(Path(folder) / "sample", **FILES)))

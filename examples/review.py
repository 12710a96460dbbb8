"""Review the work of an agent: send it back with a comment, read its answer, approve and merge it."""

import asyncio
import tempfile
from pathlib import Path

from ostler import Ostler, ReviewComment, Task
from sample import make_repository

SETTINGS = """
[run]
executor = "scripted"
[phases.plans]
small = ["implement"]
[gates.phases]
implement = "human"
"""
SCRIPT = """
```ostler-script
- edit: {path: hello.txt, content: "Hello."}
- say: '{"replies": [{"comment": 1, "status": "declined", "text": "It is a greeting."}]}
    <phase_complete>true</phase_complete>'
```
"""


async def main(root: Path) -> None:
    async with Ostler.open(root) as ostler:
        task = await ostler.add(Task(title="Write hello.txt", body=SCRIPT))
        await ostler.run(task.id)
        shown = await ostler.review(task.id)
        comment = ReviewComment(path="hello.txt", line=1, text="Too short.", suggestion="Hello, world.")
        await ostler.send_review(task.id, "changes", comments=[comment], version=shown.version)
        await ostler.run(task.id)
        shown = await ostler.review(task.id)
        for answered in shown.reviews[0].comments:
            reply = answered.reply.text if answered.reply else "no answer"
            print(f"{answered.text} {answered.state}: {reply}")
        await ostler.send_review(task.id, "approve", then="merge", version=shown.version)
        outcome = await ostler.run(task.id)
    print(f"{outcome.status}: {outcome.branch} is merged")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(make_repository(Path(folder) / "sample", **{"ostler.toml": SETTINGS})))

"""Many pipelines at once, with a provider that limits: nothing is lost, nothing is done twice."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from threading import Lock

import pytest

from document_world import DocumentWorld, answer
from ostler.testing.fake_llm import FakeLlm, Request, Turn, limited

COUNT = 100 if os.environ.get("OSTLER_FULL") else 12
AT_ONCE = 8
PIPELINE = """
concurrency: 2
steps:
  - research
  - parallel: [copy, editor]
  - summary
"""


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_a_limit_in_the_middle_of_many_pipelines(tmp_path: Path) -> None:
    """Every seventh request is refused for a second; each document is written once, from its own inputs."""
    world = DocumentWorld(tmp_path)
    world.pipeline("four", PIPELINE)
    lock, asked, at_work, most = Lock(), Counter[str](), [0], [0]

    def turn(request: Request) -> Turn:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        try:
            if request.number % 7 == 0:
                return limited("1")
            with lock:
                asked[request.history[-1]] += 1
            return answer(request, 0)
        finally:
            with lock:
                at_work[0] -= 1

    with FakeLlm(turn) as llm:
        world.asks(llm)
        for number in range(COUNT):
            world.ostler("pipeline", "run", "four", "--later", "--goal", f"Goal {number}")
        run = world.start("run", "--all", "--wait", "-j", str(AT_ONCE), OSTLER_RETRY__MAX_RETRIES="5")
        assert run.wait(1000) == 0
    tasks = world.json("status")["tasks"]
    assert len(tasks) == 4 * COUNT
    assert Counter(task["status"] for task in tasks) == {"completed": 4 * COUNT}
    assert set(asked.values()) == {1}, "a question was answered twice"
    assert most[0] <= AT_ONCE
    inputs = {"research": 0, "copy": 1, "editor": 1, "summary": 2}
    for task in tasks:
        text = (world.root / task["output_path"]).read_text()
        written = f"By {task['step']}, from {inputs[task['step']]} inputs, draft 1."
        goal = task["title"].removeprefix(f"{task['step']}: ")
        assert text == f"# {goal}\n\n{written}"
    world.close()

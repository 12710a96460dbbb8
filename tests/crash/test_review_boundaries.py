"""kill -9 while a review is sent, or while its agent works: never half of it, lost, or sent twice."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.files.failpoint import arm
from review_world import WAITS, comment, list_drafts, list_texts, see, send
from world import World

TEXTS = ["One.", "Two."]
# Nothing of the review is recorded before the transaction ends.
UNSENT = ("review.kept", "review.added", "journal.append", "review.decided")
SENT = ("journal.appended", "review.sent", "file.write", "file.rename", "file.renamed", "review.written")
RUN = (
    "journal.append",
    "journal.appended",
    "attempt.begin",
    "attempt.begun",
    "attempt.end",
    "attempt.ended",
    "checkpoint.commit",
    "checkpoint.committed",
)


@pytest.fixture
def task(world: World) -> str:
    """A task that waits for a review, with two drafts."""
    world.environ |= WAITS
    made = world.new()
    world.ostler("run", made, code=4)
    for number, text in enumerate(TEXTS):
        comment(world, made, f"c{number}", text=text)
    return made


def run_killed(work: Callable[[], object], failpoint: str) -> int:
    """Do it in a process that dies at a failpoint; return how it ended."""
    child = os.fork()
    if child == 0:
        arm(failpoint)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def prompts(world: World, task: str) -> list[tuple[str, str]]:
    """Return the status and the prompt of each attempt that got one."""
    folder = Path(world.root, ".ostler/tasks", task, "prompts")
    named = [(one["status"], folder / Path(one["transcript"]).name) for one in world.show(task)["attempts"]]
    found = [(status, path.with_suffix(".md")) for status, path in named]
    return [(status, path.read_text()) for status, path in found if path.exists()]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", [*UNSENT, *SENT])
def test_a_kill_while_a_review_is_sent(world: World, task: str, place: str) -> None:
    """The drafts are kept, or all of it is sent; the same request again completes it, once."""
    died = run_killed(lambda: send(world, task, id="request-1"), f"{place}:kill")
    assert died == -9, f"{place} was not reached"
    if place in UNSENT:
        assert (list_texts(world, task), list_drafts(world, task)) == ([], TEXTS)
        assert world.show(task)["status"] == "needs_review"
    else:
        assert (list_texts(world, task), list_drafts(world, task)) == ([TEXTS], [])
        assert world.show(task)["status"] != "needs_review"
    assert send(world, task, id="request-1") == 1
    assert (list_texts(world, task), list_drafts(world, task)) == ([TEXTS], [])
    assert len([one for one in world.events(task) if one.get("review")]) == 1
    judged = see(world, task).reviews[0].commit
    assert world.git("rev-parse", f"refs/ostler/reviews/{task}/1").strip() == judged
    world.ostler("run", task, code=4)
    check_answered_once(world, task)
    world.check_store()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", RUN)
def test_a_kill_while_the_agent_has_the_review(world: World, task: str, place: str) -> None:
    """An attempt that did not end gets all comments again; one that ended is not repeated."""
    send(world, task)
    world.ostler("run", task, code=-9, OSTLER_FAILPOINT=f"{place}:kill")
    assert list_texts(world, task) == [TEXTS]
    world.ostler("run", task, code=4)
    check_answered_once(world, task)
    world.check_store()


def check_answered_once(world: World, task: str) -> None:
    """One attempt that succeeded has all comments, and no later one has them."""
    asked = [status for status, text in prompts(world, task) if all(one in text for one in TEXTS)]
    assert asked.count("succeeded") == 1 and asked[-1] == "succeeded", asked
    assert asked == [status for status, text in prompts(world, task) if any(one in text for one in TEXTS)]
    assert see(world, task).can.send_back.allowed

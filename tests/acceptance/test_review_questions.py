"""A reviewer that is a model API is asked a second time, not answered from its session (T19)."""

from __future__ import annotations

import pytest

from ostler.testing.fake_llm import FakeLlm, say
from world import World

APPROVED = '{"verdict": "approved", "reason": "all is well", "findings": []}'
SETTINGS = '[gates.phases]\nimplement = "ai"\n[agents]\nreviewer = "model_api"\n'


def review(world: World, *answers: str, code: int = 0) -> tuple[dict, FakeLlm]:
    (world.root / "ostler.toml").write_text(SETTINGS)
    with FakeLlm([say(answer) for answer in answers]) as llm:
        world.environ |= {"ANTHROPIC_API_KEY": "sk-test-0123456789", "ANTHROPIC_BASE_URL": llm.url}
        task = world.new("Greet", "--weight", "trivial")
        world.ostler("run", task, code=code)
    return world.show(task), llm


def test_the_second_question_reaches_the_model(world: World) -> None:
    """An unreadable answer leads to a second request, whose answer decides; both are billed once."""
    shown, llm = review(world, "I like it.", APPROVED)
    assert shown["status"] == "completed"
    assert len(llm.prompts) == 2 and "could not be parsed" in str(llm.prompts[1])
    reviews = [one for one in shown["attempts"] if one["executor"] == "model_api"]
    assert [one["usage"]["input_tokens"] for one in reviews] == [10, 10]
    assert len({one["session_id"] for one in reviews}) == 1


def test_two_unreadable_answers_are_two_requests(world: World) -> None:
    """`no readable verdict in two attempts` follows two requests."""
    shown, llm = review(world, "I like it.", "I still like it.", code=4)
    assert len(llm.prompts) == 2
    assert "two attempts" in shown["message"]
    assert shown["obstacle"] == "reviewer"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("point", ["attempt.end:kill:2", "gate.checked:kill"])
def test_a_replayed_answer_is_billed_once(world: World, point: str) -> None:
    """A run is killed before or after it recorded the attempt: one request, and its tokens once."""
    (world.root / "ostler.toml").write_text(SETTINGS)
    with FakeLlm([say(APPROVED)]) as llm:
        world.environ |= {"ANTHROPIC_API_KEY": "sk-test-0123456789", "ANTHROPIC_BASE_URL": llm.url}
        task = world.new("Greet", "--weight", "trivial")
        world.ostler("run", task, code=-9, OSTLER_FAILPOINT=point)
        world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], len(llm.prompts)) == ("completed", 1)
    reviews = [one for one in shown["attempts"] if one["executor"] == "model_api"]
    assert sum((one["usage"] or {"input_tokens": 0})["input_tokens"] for one in reviews) == 10


def test_a_criterion_that_is_added_later_is_reviewed(world: World) -> None:
    """The gate passed without it; the second phase changes no file, and the reviewer is asked once more."""
    toml = world.root / "ostler.toml"
    toml.write_text(SETTINGS)
    add = f"printf '[gates.criteria]\\nimplement = [\"it is polite\"]\\n' >> '{toml}'"
    world.behave(plan=[{}, {"edits": {}, "script": add}])
    with FakeLlm([say(APPROVED), say(APPROVED)]) as llm:
        world.environ |= {"ANTHROPIC_API_KEY": "sk-test-0123456789", "ANTHROPIC_BASE_URL": llm.url}
        task = world.new("Greet", "--phases", "implement,test")
        world.ostler("run", task)
    assert ["it is polite" in str(prompt) for prompt in llm.prompts] == [False, True]

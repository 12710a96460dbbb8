"""A task as a trajectory, checked against the rules of the format."""

from __future__ import annotations

from typing import Any

from ostler.views.atif import AttemptLog, make_trajectory

TASK: dict[str, Any] = {
    "id": "mend-ab12",
    "title": "Mend",
    "status": "completed",
    "code": None,
    "branch": "ostler/mend-ab12",
    "commit": "abc",
    "pr_url": None,
    "cost_usd": 0.5,
    "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 3, "cache_write_tokens": 2},
}
ENDED = {"type": "attempt_ended", "usage": TASK["usage"], "cost_usd": 0.5}
AGENT = {"name", "version", "model_name", "extra"}
STEP = {"step_id", "timestamp", "source", "message", "model_name", "tool_calls", "observation", "metrics"}


def entries(*reported: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"at": 101.0 + place, "offset": place * 10} | entry for place, entry in enumerate(reported)]


def made(*reported: dict[str, Any], events: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return make_trajectory(
        TASK, [AttemptLog("Please mend it", "m-1", 100.0, entries(*reported))], events, "1.0"
    )


def check(found: dict[str, Any]) -> None:
    """The rules of the format that a reader relies on."""
    assert found["schema_version"] == "ATIF-v1.4" and set(found["agent"]) <= AGENT
    assert [step["step_id"] for step in found["steps"]] == list(range(1, len(found["steps"]) + 1))
    for step in found["steps"]:
        assert set(step) <= STEP and step["source"] in ("system", "user", "agent")
        asked = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        assert not asked or step["source"] == "agent"
        results = step.get("observation", {"results": []})["results"]
        assert {result["source_call_id"] for result in results} <= asked
    assert found["final_metrics"]["total_steps"] == len(found["steps"])


def test_a_text_and_the_following_tools_are_one_step() -> None:
    """The results of its tools are that step's observation; text after a result starts a new step."""
    found = made(
        {"type": "text_received", "text": "I look."},
        {"type": "tool_used", "tool": "Read", "id": "a", "input": {"path": "x"}},
        {"type": "tool_used", "tool": "Bash", "id": "b", "input": "ls"},
        {"type": "tool_returned", "id": "a", "text": "text", "failed": False},
        {"type": "tool_returned", "id": "b", "text": "no", "failed": True},
        {"type": "tool_used", "tool": "Edit", "id": "c"},
        {"type": "text_received", "text": "Done."},
        ENDED,
    )
    check(found)
    prompt, look, edit, done = found["steps"]
    assert (prompt["source"], prompt["message"]) == ("user", "Please mend it")
    assert [call["function_name"] for call in look["tool_calls"]] == ["Read", "Bash"]
    assert look["tool_calls"][1]["arguments"] == {"value": "ls"}
    assert [result["content"] for result in look["observation"]["results"]] == ["text", "no"]
    assert edit["message"] == "" and edit["tool_calls"][0]["arguments"] == {}
    assert done["metrics"]["prompt_tokens"] == 15 and done["metrics"]["cached_tokens"] == 3


def test_a_tool_without_an_id_gets_one_and_a_stray_answer_is_left_out() -> None:
    """Older agents give neither an id nor a name; the format needs both."""
    found = made(
        {"type": "tool_used", "tool": "run", "id": ""}, {"type": "tool_returned", "id": "", "text": "x"}
    )
    check(found)
    assert found["steps"][1]["tool_calls"][0]["tool_call_id"] == "at-0"


def test_gates_and_people_have_their_place_in_time() -> None:
    """A rejection of a gate is between the attempts as a system step; a person's message is a user step."""
    gate = {"time": "1970-01-01T00:01:41.500Z", "type": "gate_decided", "phase": "test", "verdict": "fail"}
    word = {"time": "1970-01-01T00:02:00Z", "type": "decision_recorded", "verb": "approve", "text": "Good."}
    found = made(
        {"type": "text_received", "text": "One"},
        {"type": "text_received", "text": "Two"},
        events=(gate, word),
    )
    check(found)
    assert [step["source"] for step in found["steps"]] == ["user", "agent", "system", "agent", "user"]
    assert (
        found["steps"][2]["message"] == "gate of test: fail"
        and found["steps"][4]["message"] == "approve: Good."
    )


def test_an_unknown_cost_is_left_out_rather_than_zero() -> None:
    """A reader that sums up must not count it as free."""
    found = make_trajectory(TASK | {"cost_usd": None}, [], [], "1.0")
    assert (
        "total_cost_usd" not in found["final_metrics"]
        and found["final_metrics"]["total_completion_tokens"] == 5
    )

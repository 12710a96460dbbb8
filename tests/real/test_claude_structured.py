"""The real claude is held to a schema, and what it makes of a model that does not listen."""

from __future__ import annotations

import json
from pathlib import Path

from ostler.errors import Code
from ostler.model.call import TextSaid, ToolUsed
from ostler.prompt.answer import ANSWER_SCHEMA
from ostler.testing.fake_llm import FakeLlm, call, fit, say
from real_claude import MARK, Seat

SCHEMA = json.dumps(ANSWER_SCHEMA)
ANSWER = {"status": "complete", "reason": "", "summary": "I did it — all of it."}


def test_the_object_is_the_answer(tmp_path: Path) -> None:
    """The model sees our schema as a tool; what it calls it with is the text, and no use of a tool."""
    with FakeLlm([call("StructuredOutput", **ANSWER)]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.spawn(schema=SCHEMA)
    assert (result.code, json.loads(result.text)) == (None, ANSWER), result.message
    tool = next(tool for tool in llm.asked[0].tool_entries if tool["name"] == "StructuredOutput")
    assert tool["input_schema"]["properties"] == ANSWER_SCHEMA["properties"]
    assert seat.heard(ToolUsed) == []
    said = [event.text for event in seat.heard(TextSaid) if isinstance(event, TextSaid)]
    assert [json.loads(text) for text in said] == [ANSWER]


def test_a_resumed_session_is_held_to_it_too(tmp_path: Path) -> None:
    """The first call asked for free text, the next one for an object."""
    with FakeLlm(lambda request: fit(request, **ANSWER) or say("OK")) as llm:
        seat = Seat(tmp_path, llm)
        first = seat.spawn("PROMPT-ONE")
        second = seat.resume("PROMPT-TWO", first.session_id, schema=SCHEMA)
        third = seat.resume("PROMPT-THREE", first.session_id)
    assert (first.text, json.loads(second.text), third.text) == ("OK", ANSWER, "OK")


def test_a_model_that_does_not_listen_ends_with_its_words(tmp_path: Path) -> None:
    """Claude asks it once more and then takes what it says: the marks are our second choice."""
    with FakeLlm([say(f"Done.\n\n{MARK}")]) as llm:
        result = Seat(tmp_path, llm).spawn(schema=SCHEMA)
    assert (result.code, result.text) == (None, f"Done.\n\n{MARK}")
    assert len(llm.asked) == 2


def test_an_object_that_never_fits_is_a_failure_that_says_so(tmp_path: Path) -> None:
    """After five tries claude gives up; the work is in the session, and the call can be repeated."""
    with FakeLlm([call("StructuredOutput", status="perhaps")]) as llm:
        result = Seat(tmp_path, llm).spawn(schema=SCHEMA)
    assert result.code is Code.AGENT_FAILED
    assert "structured output" in result.message and result.session_id

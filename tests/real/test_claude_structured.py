"""The real claude enforces a schema, also with a model that does not follow it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.model.call import TextReceived, ToolUsed
from ostler.prompt.answer import ANSWER_SCHEMA
from ostler.testing.fake_llm import FakeLlm, call, fit, say
from real_claude import MARK, Seat

pytestmark = pytest.mark.full

SCHEMA = json.dumps(ANSWER_SCHEMA)
ANSWER = {"status": "complete", "reason": "", "summary": "I did it — all of it."}


@pytest.mark.smoke
def test_the_object_is_the_answer(tmp_path: Path) -> None:
    """The model gets the schema as a tool; its input is the text, and the use is not reported."""
    with FakeLlm([call("StructuredOutput", **ANSWER)]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.spawn(schema=SCHEMA)
    assert (result.code, json.loads(result.text)) == (None, ANSWER), result.message
    tool = next(tool for tool in llm.prompts[0].tool_entries if tool["name"] == "StructuredOutput")
    assert tool["input_schema"]["properties"] == ANSWER_SCHEMA["properties"]
    assert seat.received(ToolUsed) == []
    printed = [event.text for event in seat.received(TextReceived) if isinstance(event, TextReceived)]
    assert [json.loads(text) for text in printed] == [ANSWER]


def test_a_resumed_session_enforces_it_too(tmp_path: Path) -> None:
    """The first call has no schema, the next one has."""
    with FakeLlm(lambda request: fit(request, **ANSWER) or say("OK")) as llm:
        seat = Seat(tmp_path, llm)
        first = seat.spawn("PROMPT-ONE")
        second = seat.resume("PROMPT-TWO", first.session_id, schema=SCHEMA)
        third = seat.resume("PROMPT-THREE", first.session_id)
    assert (first.text, json.loads(second.text), third.text) == ("OK", ANSWER, "OK")


def test_a_model_that_ignores_the_schema_ends_with_its_text(tmp_path: Path) -> None:
    """Claude repeats the request once and then returns the text; the marks of the text count."""
    with FakeLlm([say(f"Done.\n\n{MARK}")]) as llm:
        result = Seat(tmp_path, llm).spawn(schema=SCHEMA)
    assert (result.code, result.text) == (None, f"Done.\n\n{MARK}")
    assert len(llm.prompts) == 2


def test_an_object_that_never_fits_is_a_failure(tmp_path: Path) -> None:
    """After five attempts claude fails; the call can be repeated in the session."""
    with FakeLlm([call("StructuredOutput", status="perhaps")]) as llm:
        result = Seat(tmp_path, llm).spawn(schema=SCHEMA)
    assert result.code is Code.AGENT_FAILED
    assert "structured output" in result.message and result.session_id

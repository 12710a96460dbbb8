"""When a probe of a provider counts as answered."""

from __future__ import annotations

import pytest

from ostler.calls.models.first_output import FirstOutput
from ostler.model.call import AgentEvent, TextReceived, ToolUsed
from ostler.model.limits.limit import Open, Probe
from ostler.model.limits.window import Window

TEXT, TOOL = TextReceived("The answer begins"), ToolUsed("Edit", "a.txt")


@pytest.mark.parametrize(
    ("window", "event", "answered"),
    [("requests", TEXT, 1), ("login", TEXT, 1), ("network", TEXT, 0), ("network", TOOL, 1)],
)
def test_a_part_of_an_answer_does_not_end_an_outage_of_the_network(
    window: str, event: AgentEvent, answered: int
) -> None:
    """The answer may break off again; it counts when the model uses a tool, or at its end."""
    found: list[Probe] = []
    output = FirstOutput(Probe((Window("claude#", window=window),)), found.append)
    output.check_event(event)
    assert (len(found), output.is_unanswered) == (answered, not answered)
    output.confirm()
    assert len(found) == 1 and not output.is_unanswered


def test_an_open_provider_needs_no_answer() -> None:
    """Nothing is reported for a call that is no probe."""
    output = FirstOutput(Open(), lambda _: pytest.fail("reported"))
    output.check_event(TEXT)
    assert not output.is_unanswered

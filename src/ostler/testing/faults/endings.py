"""Ends without a result, with an empty one, or with two."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from .everyday import begin, behave

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

_FOREVER = 3600.0


def two_results(agent: FakeAgent) -> int:
    """Print a second result, as after a background tool; the second one counts."""
    begun = begin(agent)
    if begun:
        return begun
    agent.work()
    agent.say_result("first")
    agent.wire.init(agent)
    agent.say_result(agent.answer())
    return 0


def a15_no_result(agent: FakeAgent) -> int:
    """Work, then exit with 0 and without a result."""
    begun = begin(agent)
    if not begun:
        agent.work()
        agent.say("I think that is all.")
    return begun


def a16_empty(agent: FakeAgent) -> int:
    """Exit with 0 and an empty answer, without a change."""
    agent.behaviour.update(text="", edits={})
    return behave(agent)


def a16_silent(agent: FakeAgent) -> int:
    """Exit with 0 without any output."""
    return begin(agent)


def a17_error_in_text(agent: FakeAgent) -> int:
    """Succeed with the error of a provider as the answer: behaviour["error"] or "credit"."""
    if agent["error"] == "credit":
        agent.behaviour["text"] = "Credit balance is too low"
    else:
        agent.behaviour["text"] = f"API Error: {agent['error']} " + '{"type":"error"}'
    return behave(agent)


def a18_exit(agent: FakeAgent) -> int:
    """Exit with behaviour["status"], after an error_message on stderr; a negative value is a signal."""
    begin(agent)
    if agent["error_message"] != "fake":
        print(agent["error_message"], file=sys.stderr)
    if agent["status"] < 0:
        os.kill(os.getpid(), -agent["status"])
        time.sleep(_FOREVER)
    return agent["status"]


def a18_after_result(agent: FakeAgent) -> int:
    """Complete a turn, then exit with behaviour["status"]."""
    return behave(agent) or agent["status"]

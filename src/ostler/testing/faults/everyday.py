"""Common behaviour: work, give up, be denied, or reach a limit."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent


def behave(agent: FakeAgent) -> int:
    """Without a fault: read the prompt, open the session, run one turn."""
    return begin(agent) or agent.run()


def begin(agent: FakeAgent) -> int:
    agent.prompt = agent.wire.receive(agent) if hasattr(agent.wire, "receive") else sys.stdin.read()
    refused = agent.open_session()
    agent.adapt()
    return refused


def crash(agent: FakeAgent) -> int:
    """Edit files, then exit without a result."""
    begun = begin(agent)
    if not begun:
        agent.work()
    return begun or agent["status"]


def blocked(agent: FakeAgent) -> int:
    """Work, then report that it is blocked."""
    agent.behaviour["text"] = "<phase_blocked>I need the password</phase_blocked>"
    return behave(agent)


def no_mark(agent: FakeAgent) -> int:
    """Work, and end without the mark that completes a phase."""
    # The same answer without a change would block the task.
    later = f"\n\nCall {agent.number}." if agent.number > 1 else ""
    agent.behaviour["text"] = f"I changed something.{later}"
    return behave(agent)


def denied(agent: FakeAgent) -> int:
    """End because a permission was denied."""
    begun = begin(agent)
    if begun:
        return begun
    agent.wire.init(agent)
    agent.wire.denied(agent)
    return 0


def api_error(agent: FakeAgent) -> int:
    """Fail as the real agent does when the provider answers with behaviour["error"]."""
    begun = begin(agent)
    if begun:
        return begun
    agent.wire.init(agent)
    agent.remember({"prompt": agent.prompt})
    return agent.wire.api_error(agent)


def limited(agent: FakeAgent) -> int:
    """After behaviour["count"] starts, the provider answers 429 for behaviour["seconds"]."""
    if agent.number <= agent["count"]:
        return behave(agent)
    left = _closes(Path(f"{agent.state}.window"), agent["seconds"]) - time.time()
    if left <= 0:
        return behave(agent)
    agent.record("limit")
    agent.behaviour["error_message"] = f"try again in {left:.3f} seconds"
    return api_error(agent)


def waits(agent: FakeAgent) -> int:
    """Print behaviour["error_message"] on stderr, wait for behaviour["seconds"], then work."""
    begun = begin(agent)
    if begun:
        return begun
    agent.wire.init(agent)
    agent.remember({"prompt": agent.prompt})
    agent.fail(agent["error_message"])
    time.sleep(agent["seconds"])
    return agent.run()


def _closes(window: Path, seconds: float) -> float:
    """Return when the limit ends; all callers share the limit that the first one started."""
    try:
        with window.open("x") as file:
            file.write(f"{time.time() + seconds}\n")
    except FileExistsError:
        pass
    while not (written := window.read_text()).endswith("\n"):
        time.sleep(0.001)
    return float(written)

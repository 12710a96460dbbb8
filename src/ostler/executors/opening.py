"""How a session begins with an agent that has no place apart for the system text."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.model.call import AgentCall


def opening(call: AgentCall) -> AgentCall:
    """The call with its system text in front of the prompt; the session then keeps both."""
    system = call.system.strip()
    return replace(call, prompt=f"{system}\n\n---\n\n{call.prompt}", system="") if system else call

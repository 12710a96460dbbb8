"""A refused push in the output of tools."""

from __future__ import annotations

import pytest

from ostler.calls.sandbox.push_refusals import PushRefusals
from ostler.git.private.programs import PUSH_REFUSED
from ostler.model.call import AccessRefused, ToolReturned
from ostler.model.policy.sandbox import Network


@pytest.mark.parametrize(("network", "count"), [("on", 1), ("off", 1), ("proxy", 0)])
def test_it_is_reported_once(network: Network, count: int) -> None:
    """The proxy gets the report from the program that refuses the push."""
    refusals = PushRefusals(network)
    texts = ("ok", f"Exit code 128\n{PUSH_REFUSED}\n", PUSH_REFUSED)
    found = [one for text in texts for one in refusals.read(ToolReturned("1", text))]
    assert found == [AccessRefused("push", "a remote")] * count

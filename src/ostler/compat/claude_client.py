"""The marketing agents' client of Anthropic's API; importing it loads the SDK, which takes a second."""

from __future__ import annotations

from ostler.compat.marketing import execution_errors
from ostler.llm import anthropic
from ostler.llm.client import ClaudeRequest, ClaudeResponse


class AnthropicClaudeClient(anthropic.AnthropicClaudeClient):
    """Sends requests to the Messages API; errors are an ExecutionError, with one of its codes."""

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """Return the response to one request; raise ExecutionError, whose cause is the ModelError."""
        with execution_errors():
            return await super().complete(request)

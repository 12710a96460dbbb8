"""The token counts in the answers of model APIs; cached tokens are not counted as input tokens."""

from __future__ import annotations

from msgspec import Struct, field

from ostler.model.usage import Usage


class MessagesUsage(Struct, frozen=True):
    """Counts of the Messages API: running totals, of which a part may be missing."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def update(self, old: Usage) -> Usage:
        """Return the counts so far; each count replaces the one before."""
        return Usage(
            old.input_tokens if self.input_tokens is None else self.input_tokens,
            old.output_tokens if self.output_tokens is None else self.output_tokens,
            self.cache_read_input_tokens or old.cache_read_tokens,
            self.cache_creation_input_tokens or old.cache_write_tokens,
        )


class _Cached(Struct, frozen=True):
    cached_tokens: int | None = None


class ChatUsage(Struct, frozen=True):
    """Counts of the Chat Completions API, which counts cached tokens as prompt tokens, too."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None

    def count(self) -> Usage:
        cached = (self.prompt_tokens_details and self.prompt_tokens_details.cached_tokens) or 0
        return Usage((self.prompt_tokens or 0) - cached, self.completion_tokens or 0, cached)


class ResponsesUsage(Struct, frozen=True):
    """Counts of the Responses API, which counts cached tokens as input tokens, too."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Cached | None = None

    def count(self) -> Usage:
        cached = (self.input_tokens_details and self.input_tokens_details.cached_tokens) or 0
        return Usage((self.input_tokens or 0) - cached, self.output_tokens or 0, cached)


class GeminiUsage(Struct, frozen=True):
    """Counts of the Gemini API: thoughts are not part of the candidates, cached tokens are in the prompt."""

    prompt: int | None = field(name="promptTokenCount", default=None)
    tool_prompt: int | None = field(name="toolUsePromptTokenCount", default=None)
    candidates: int | None = field(name="candidatesTokenCount", default=None)
    thoughts: int | None = field(name="thoughtsTokenCount", default=None)
    cached: int | None = field(name="cachedContentTokenCount", default=None)

    def count(self) -> Usage:
        cached = self.cached or 0
        read = (self.prompt or 0) + (self.tool_prompt or 0) - cached
        return Usage(read, (self.candidates or 0) + (self.thoughts or 0), cached)

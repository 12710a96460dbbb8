"""The tools that an answer asks for, put together from its parts."""

from __future__ import annotations

from msgspec import Struct

from ostler.llm.client import ToolUse


class _Parts(Struct):
    id: str
    name: str
    arguments: list[str]


class ToolParts:
    """Each use has a number, by which what belongs to it is known."""

    def __init__(self) -> None:
        self._parts: dict[int, _Parts] = {}

    def __len__(self) -> int:
        return len(self._parts)

    def begin(self, number: int, id: str, name: str) -> None:
        """A use begins; one that has begun already stays as it is."""
        self._parts.setdefault(number, _Parts(id or f"call_{number}", name, []))

    def add(self, number: int, text: str) -> None:
        """More of its arguments; of a use that never began they are nothing."""
        if number in self._parts:
            self._parts[number].arguments.append(text)

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """What was asked for; no arguments at all are the empty ones."""
        parts = self._parts.values()
        return tuple(ToolUse(one.id, one.name, "".join(one.arguments).strip() or "{}") for one in parts)

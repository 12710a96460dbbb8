"""Parses a GraphQL query and reduces an answer to the fields of the query."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec import Struct

_TOKEN = re.compile(r'\.\.\.|[{}()\[\]:!=$@|]|"(?:\\.|[^"\\])*"|-?\d+(?:\.\d+)?|[A-Za-z_]\w*')
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


class Field(Struct, frozen=True):
    """One field of a selection: its alias, name, arguments and inner fields."""

    key: str
    name: str
    args: dict[str, Any] = {}
    inner: tuple[Selected, ...] = ()


class Spread(Struct, frozen=True):
    """The fields of a fragment, or of one type of a union."""

    fragment: str = ""
    kind: str = ""
    inner: tuple[Selected, ...] = ()


Selected = Field | Spread


class Query(Struct, frozen=True):
    """An operation with its fragments."""

    fields: tuple[Selected, ...]
    fragments: dict[str, Spread] = {}

    def cut(self, root: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer; a function in the root is called with the arguments of its field."""
        return self._cut_object(root, self.fields)

    def _cut(self, value: Any, inner: tuple[Selected, ...]) -> Any:
        if isinstance(value, list):
            return [self._cut(item, inner) for item in cast("list[Any]", value)]
        if isinstance(value, dict) and inner:
            return self._cut_object(cast("dict[str, Any]", value), inner)
        return cast("Any", value)

    def _cut_object(self, value: Mapping[str, Any], inner: tuple[Selected, ...]) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        for selected in inner:
            if isinstance(selected, Field):
                answer[selected.key] = self._cut(_resolve(value, selected), selected.inner)
            elif self._applies(value, spread := self.fragments.get(selected.fragment, selected)):
                answer |= self._cut_object(value, spread.inner)
        return answer

    def _applies(self, value: Mapping[str, Any], spread: Spread) -> bool:
        return not spread.kind or value.get("__typename", spread.kind) == spread.kind


def read_query(text: str, variables: Mapping[str, Any]) -> Query:
    """Parse a query and insert its variables."""
    reader = _Reader(_TOKEN.findall(re.sub(r"#[^\n]*", "", text)), variables)
    return reader.read_document()


def _resolve(value: Mapping[str, Any], field: Field) -> Any:
    found = value.get(field.name)
    return cast("Callable[[dict[str, Any]], Any]", found)(field.args) if callable(found) else found


class _Reader:
    def __init__(self, tokens: list[str], variables: Mapping[str, Any]) -> None:
        self._tokens = tokens
        self._at = 0
        self._variables = variables

    def read_document(self) -> Query:
        fields: tuple[Selected, ...] = ()
        fragments: dict[str, Spread] = {}
        while self._at < len(self._tokens):
            head = self._until_brace()
            inner = self._selection()
            if head[:1] == ["fragment"]:
                fragments[head[1]] = Spread(kind=head[3], inner=inner)
            else:
                fields = inner
        return Query(fields, fragments)

    def _until_brace(self) -> list[str]:
        start = self._at
        self._at = self._tokens.index("{", start)
        return self._tokens[start : self._at]

    def _selection(self) -> tuple[Selected, ...]:
        self._take("{")
        found: list[Selected] = []
        while not self._skip("}"):
            found.append(self._spread() if self._skip("...") else self._field())
        return tuple(found)

    def _spread(self) -> Spread:
        if self._skip("on"):
            return Spread(kind=self._take(), inner=self._selection())
        return Spread(fragment=self._take())

    def _field(self) -> Field:
        key = self._take()
        name = self._take() if self._skip(":") else key
        args = self._pairs(")") if self._skip("(") else {}
        inner = self._selection() if self._peek() == "{" else ()
        return Field(key, name, args, inner)

    def _pairs(self, end: str) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        while not self._skip(end):
            name = self._take()
            self._take(":")
            pairs[name] = self._value()
        return pairs

    def _value(self) -> Any:
        token = self._take()
        match token:
            case "$":
                return self._variables.get(self._take())
            case "{":
                return self._pairs("}")
            case "[":
                return self._list()
            case _:
                is_word = token[0].isalpha() or token[0] == "_"
                return _WORDS.get(token, token) if is_word else json.loads(token)

    def _list(self) -> list[Any]:
        found: list[Any] = []
        while not self._skip("]"):
            found.append(self._value())
        return found

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _skip(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._at += 1
        return True

    def _take(self, expected: str = "") -> str:
        token = self._peek()
        if not token or (expected and token != expected):
            raise ValueError(f"invalid query: found {token or 'its end'!r}, expected {expected or 'more'!r}")
        self._at += 1
        return token

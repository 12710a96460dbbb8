"""The OpenAPI document, made from the table of routes and the types of their handlers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from ostler import __version__
from ostler.web.attachment import Attachment
from ostler.web.problem import ErrorView
from ostler.web.route import Route, Signature

_PARAMETER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_REF = "#/components/schemas/{name}"
_REFUSALS = {
    "400": "What was asked cannot be",
    "401": "The key of the server is missing",
    "403": "Another site asks for a change",
    "404": "There is no such thing",
    "409": "It does not fit how things stand",
    "413": "The request is too large",
    "415": "A change is asked for in JSON",
    "421": "The server does not go by that name",
}
_OF_CHANGES = ("403", "413", "415")

Document = dict[str, Any]
Known = dict[Any, Document]


def openapi(routes: Iterable[Route], base: str) -> Document:
    """The whole document, version 3.1."""
    signatures = [(route, route.signature) for route in routes]
    kinds = {kind for _, one in signatures for kind in (one.query, one.body, one.answer) if _is_value(kind)}
    ordered = sorted((*kinds, ErrorView), key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    known: Known = dict(zip(ordered, schemas, strict=True))
    paths: Document = {}
    for route, signature in signatures:
        path = base + _PARAMETER.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, signature, known, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Ostler", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


def _is_value(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct) and kind is not Attachment


def _operation(route: Route, signature: Signature, known: Known, components: Document) -> Document:
    made: Document = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": [*_names(route.path), *_query(components[signature.query.__name__])],
        "responses": {str(route.status): _answer(signature.answer, known), **_refusals(route, known)},
    }
    if route.method == "POST":
        content = {"application/json": {"schema": known[signature.body]}}
        made["requestBody"] = {"required": True, "content": content}
    return made


def _names(path: str) -> list[Document]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer" if kind == "int" else "string"},
        }
        for name, kind in _PARAMETER.findall(path)
    ]


def _query(schema: Document) -> list[Document]:
    return [
        {"name": name, "in": "query", "schema": _said(kind)} for name, kind in schema["properties"].items()
    ]


def _said(kind: Document) -> Document:
    """An address has no null: what is not said is left out."""
    return kind["anyOf"][0] if "anyOf" in kind else kind


def _answer(answer: Any, known: Known) -> Document:
    if answer is None:
        return {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    if answer is Attachment:
        return {"description": "A file", "content": {"application/octet-stream": {}}}
    return {"description": "The answer", "content": {"application/json": {"schema": known[answer]}}}


def _refusals(route: Route, known: Known) -> Document:
    content = {"application/json": {"schema": known[ErrorView]}}
    return {
        status: {"description": description, "content": content}
        for status, description in _REFUSALS.items()
        if route.method == "POST" or status not in _OF_CHANGES
    }

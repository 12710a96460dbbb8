"""The OpenAPI document, generated from the routes and the types of their handlers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from ostler import __version__
from ostler.project.reviews.images import IMAGE_TYPES
from ostler.web.responses import SAVED_TYPE, SHOWN_TYPE, Attachment, ErrorView, Inline
from ostler.web.route import Route, Signature

_PARAMETER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_REF = "#/components/schemas/{name}"
_ERRORS = {
    "400": "Invalid request",
    "401": "Not authenticated",
    "403": "The request comes from another origin",
    "404": "Not found",
    "409": "The current state does not allow it",
    "413": "The body is too large",
    "415": "The body is not JSON, or the file cannot be shown",
    "421": "Wrong host name",
}
_BYTES = (Attachment, Inline)
_POST_ERRORS = ("403", "413", "415")

Document = dict[str, Any]
Schemas = dict[Any, Document]


def make_openapi(routes: Iterable[Route], base: str, prefix: str = "") -> Document:
    """Return the document, version 3.1; `prefix` is the one of a project in a server of several."""
    signatures = [(route, route.signature) for route in routes]
    kinds = {kind for _, one in signatures for kind in (one.query, one.body, one.answer) if _is_value(kind)}
    ordered = sorted((*kinds, ErrorView), key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    schemas_by_type: Schemas = dict(zip(ordered, schemas, strict=True))
    paths: Document = {}
    for route, signature in signatures:
        path = base + _PARAMETER.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(
            route, signature, schemas_by_type, components
        )
    return {
        "openapi": "3.1.0",
        "info": {"title": "Ostler", "version": __version__},
        **({"servers": [{"url": prefix}]} if prefix else {}),
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


def _is_value(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct) and kind not in _BYTES


def _operation(
    route: Route, signature: Signature, schemas_by_type: Schemas, components: Document
) -> Document:
    made: Document = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": [*_names(route.path), *_query(components[signature.query.__name__])],
        "responses": {
            str(route.status): _answer(signature.answer, schemas_by_type),
            **_errors(route, signature, schemas_by_type),
        },
    }
    if route.writes:
        content = {"application/json": {"schema": schemas_by_type[signature.body]}}
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
        {"name": name, "in": "query", "schema": _query_schema(kind)}
        for name, kind in schema["properties"].items()
    ]


def _query_schema(kind: Document) -> Document:
    """Return the schema of a query parameter; null is expressed by leaving it out."""
    return kind["anyOf"][0] if "anyOf" in kind else kind


def _answer(answer: Any, schemas_by_type: Schemas) -> Document:
    if answer is None:
        return {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    if answer is Attachment:
        types = (SAVED_TYPE, SHOWN_TYPE.partition(";")[0])
        return {"description": "A file", "content": {kind: {} for kind in types}}
    if answer is Inline:
        return {"description": "A file of one of these types", "content": {kind: {} for kind in IMAGE_TYPES}}
    return {"description": "The result", "content": {"application/json": {"schema": schemas_by_type[answer]}}}


def _errors(route: Route, signature: Signature, schemas_by_type: Schemas) -> Document:
    content = {"application/json": {"schema": schemas_by_type[ErrorView]}}
    return {
        status: {"description": description, "content": content}
        for status, description in _ERRORS.items()
        if route.writes or status not in _POST_ERRORS or (signature.answer is Inline and status == "415")
    }

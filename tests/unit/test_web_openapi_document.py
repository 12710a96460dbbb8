"""The OpenAPI document is generated from the table of routes and is complete."""

from __future__ import annotations

import json
import re

import msgspec

from ostler.web.application import BASE, ROUTES
from ostler.web.openapi import make_openapi

DOCUMENT = json.loads(msgspec.json.encode(make_openapi(ROUTES, BASE)))


def test_every_route_is_described_once() -> None:
    """By path, method and its own name."""
    described = {
        (method.upper(), path): one["operationId"]
        for path, methods in DOCUMENT["paths"].items()
        for method, one in methods.items()
    }
    assert len(described) == len(ROUTES) == len(set(described.values()))
    for route in ROUTES:
        plain = re.sub(r"\{(\w+):\w+\}", r"{\1}", BASE + route.path)
        assert described[route.method, plain] == route.name


def test_every_reference_leads_somewhere() -> None:
    """Every referenced schema exists, and every schema is referenced, except those of queries."""
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(DOCUMENT)))
    assert named <= set(DOCUMENT["components"]["schemas"])


def test_parameters_are_those_of_the_path_and_the_query() -> None:
    """They have their types, and none of them is null."""
    log = DOCUMENT["paths"][f"{BASE}/tasks/{{task}}/attempts/{{number}}/log"]["get"]
    kinds = {one["name"]: (one["in"], one["schema"]["type"]) for one in log["parameters"]}
    assert kinds == {
        "task": ("path", "string"),
        "number": ("path", "integer"),
        "offset": ("query", "integer"),
        "limit": ("query", "integer"),
    }
    stream = DOCUMENT["paths"][f"{BASE}/stream"]["get"]
    assert stream["parameters"][0]["schema"]["type"] == "integer"


def test_every_operation_shows_how_it_is_refused() -> None:
    """With ostler.error/1; changes have more reasons."""
    for methods in DOCUMENT["paths"].values():
        for method, one in methods.items():
            refusals = {"400", "401", "404", "409", "421"} | (
                {"403", "413", "415"} if method in ("post", "patch") else set()
            )
            assert refusals <= set(one["responses"])
            assert ("requestBody" in one) == (method in ("post", "patch"))

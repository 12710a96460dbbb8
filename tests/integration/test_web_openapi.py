"""The server conforms to its OpenAPI document for any request (schemathesis)."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.schemas import APIOperation

from ostler.web.application import BASE, ROUTES
from ostler.web.openapi import make_openapi
from web_world import Served, serve
from world import World

EXAMPLES = 6
HELD = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
)
STREAMS = {route.name for route in ROUTES if route.stream is not None}


@pytest.mark.full
def test_every_operation_keeps_its_word(world: World) -> None:
    """Statuses, types and schemas are as documented, and a request with another schema is refused."""
    task = world.new("Add a greeting")
    world.ostler("run", task)
    server = serve(world, "--view-only")  # so that tasks created here never run
    document = server.get("/openapi.json")
    assert document == json.loads(msgspec.json.encode(make_openapi(ROUTES, BASE)))
    found = [result.ok() for result in schemathesis.openapi.from_dict(document).get_all_operations()]
    operations = [one for one in found if one.definition.raw["operationId"] not in STREAMS]
    assert len(operations) == len(ROUTES) - len(STREAMS)
    for operation in operations:
        try_out(operation, server, {"task": task, "number": 1, "path": "task.md"})


def try_out(operation: APIOperation, server: Served, known: dict[str, Any]) -> None:
    """Send valid and invalid requests, to existing and to other names."""
    names = {one.name: known[one.name] for one in operation.path_parameters if one.name in known}
    places = [names, None] if names else [None]
    cases = [
        operation.as_strategy(mode, path_parameters=place) for mode in GenerationMode for place in places
    ]
    checks = [CHECKS.get_one(check) for check in HELD]

    @given(st.one_of(cases))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def holds(case: schemathesis.Case) -> None:
        note(operation.label)
        case.call_and_validate(
            f"http://127.0.0.1:{server.port}",
            headers={"Authorization": f"Bearer {server.token}"},
            checks=checks,
            timeout=60,
        )

    holds()

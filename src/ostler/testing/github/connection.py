"""A GraphQL connection: a list with its nodes on one page."""

from __future__ import annotations

from typing import Any


def connection(nodes: list[Any]) -> dict[str, Any]:
    page = {"hasNextPage": False, "endCursor": None}
    return {"nodes": nodes, "totalCount": len(nodes), "pageInfo": page}

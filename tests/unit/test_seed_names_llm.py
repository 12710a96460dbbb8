"""Names of the seeds for model clients, requests and answers."""

from __future__ import annotations

import asyncio
import inspect
from importlib import import_module
from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.llm.failure import ModelError
from ostler.testing.mocks import MockClaudeClient
from seed_names import Check, Named, Row, find_name


def claude_client(client: Named, _: Path) -> None:
    assert inspect.iscoroutinefunction(client.complete)
    assert list(inspect.signature(client.complete).parameters) == ["self", "request"]


def client_config(config_class: Named, _: Path) -> None:
    """The key is never printed."""
    config = config_class("sk-secret")
    assert config.default_max_tokens == 4096
    assert "secret" not in repr(config) and config.base_url == ""


def request(request_class: Named, _: Path) -> None:
    names = ("system_prompt", "user_message", "model", "max_tokens", "abort")
    assert request_class.__struct_fields__[:5] == names
    assert [message.text for message in request_class("s", "u", "m").messages] == ["u"]


def response(response_class: Named, _: Path) -> None:
    names = ("content", "input_tokens", "output_tokens", "stop_reason")
    assert response_class.__struct_fields__[:4] == names
    assert response_class("c", 1, 2, "end_turn").usage.total == 3


def anthropic_client(client_class: Named, _: Path) -> None:
    """Without a key it is not created, and the error names the key; the exchange: test_llm_hostile.py."""
    config = import_module("ostler.llm.client").ClaudeClientConfig
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY") as caught:
        client_class(config(""))
    assert caught.value.code is Code.AUTH_FAILED
    assert inspect.iscoroutinefunction(client_class(config("sk-1")).complete)


def mock_client(client_class: Named, _: Path) -> None:
    """Calls, generator, one-shot error, delay and abort."""
    client_module = import_module("ostler.llm.client")
    abort = asyncio.Event()
    abort.set()
    asked = client_module.ClaudeRequest("s", "u", "m", abort=abort)
    plain = client_module.ClaudeRequest("s", "u", "m")
    mock: MockClaudeClient = client_class()
    assert asyncio.run(mock.complete(plain)).usage.total == 300
    mock.set_error(ModelError(Code.OVERLOADED, "busy"))
    with pytest.raises(ModelError, match="busy"):
        asyncio.run(mock.complete(plain))
    mock.generator = lambda request: client_module.ClaudeResponse(request.model, 1, 1, "end_turn")
    assert asyncio.run(mock.complete(plain)).content == "m"
    mock.set_delay(60.0)
    with pytest.raises(ModelError) as caught:
        asyncio.run(mock.complete(asked))
    assert (caught.value.code, len(mock.calls)) == (Code.ABORTED, 3)


def sleep(cancellable_sleep: Named, _: Path) -> None:
    """An abort ends it at once."""

    async def go() -> None:
        await cancellable_sleep(0.0)
        abort = asyncio.Event()
        asyncio.get_running_loop().call_soon(abort.set)
        await cancellable_sleep(3600.0, abort)

    with pytest.raises(ModelError) as caught:
        asyncio.run(asyncio.wait_for(go(), 60))
    assert caught.value.code is Code.ABORTED


TABLE: list[Row] = [
    ("ClaudeClient", "llm.client", claude_client),
    ("ClaudeClientConfig", "llm.client", client_config),
    ("ClaudeRequest", "llm.client", request),
    ("ClaudeResponse", "llm.client", response),
    ("AnthropicClaudeClient", "llm.anthropic", anthropic_client),
    ("MockClaudeClient", "testing.mocks", mock_client),
    ("cancellable_sleep", "llm.patience", sleep),
]


@pytest.mark.parametrize(("name", "home", "check"), TABLE, ids=[name for name, *_ in TABLE])
def test_name_is_there_and_behaves(name: str, home: str, check: Check, tmp_path: Path) -> None:
    """Importable from its module, with one behaviour checked."""
    check(find_name(name, home), tmp_path)

"""A client that a caller brought, as an executor of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings, Provider
from ostler.errors import Code, OstlerError, read_code
from ostler.executors.model_api import ModelApiExecutor
from ostler.executors.registry import ExecutorRegistry
from ostler.llm.client import ClaudeClient, ClaudeRequest, ClaudeResponse
from ostler.llm.failure import ModelError
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.process.protocol import CommandRunner
from ostler.project.execution import ExecutionError, ExecutionErrorCode, seed_code
from ostler.project.executor_config import EXECUTOR, ExecutorConfig

_GRACE_SECONDS = 0.25  # a client that keeps the time itself can say how much had come until then


class GivenClient:
    """Anyone's client, held to what the engine expects: in time, never empty, no error but ModelError."""

    def __init__(self, client: ClaudeClient, max_tokens: int) -> None:
        self._client = client
        self._max_tokens = max_tokens

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """The client's answer; cancelling it cancels the client."""
        asked = replace(request, max_tokens=self._max_tokens)
        try:
            async with asyncio.timeout(request.timeout_seconds + _GRACE_SECONDS):
                return _not_empty(await self._client.complete(asked))
        except TimeoutError as error:
            late = f"the answer took longer than {request.timeout_seconds:g} s"
            raise ModelError(Code.TIMEOUT, late) from error
        except ModelError:
            raise
        except asyncio.CancelledError:
            _require_cancelled()
            raise
        except Exception as error:  # it is anyone's code, and no task should die of it unseen
            raise _failure_of(error) from error


class ClientExecutor:
    """Asks the given client; what the config does not want repeated is final."""

    def __init__(self, asks: ModelApiExecutor, retryable: Collection[ExecutionErrorCode]) -> None:
        self._asks = asks
        self._retryable = retryable
        self.name = asks.name
        self.capabilities = replace(asks.capabilities, environment=())

    def validate_availability(self) -> None:
        """Whoever brings a client knows that it works."""

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        return self._judged(await self._asks.spawn(call, on_event))

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        return self._judged(await self._asks.resume(call, on_event))

    def _judged(self, result: CallResult) -> CallResult:
        return result if result.ok else replace(result, final=seed_code(result.code) not in self._retryable)


def registry_with(client: ClaudeClient, config: ExecutorConfig) -> ExecutorRegistry:
    """The executors, with this client behind the one that asks a model directly."""

    def connect(provider: Provider, env: Mapping[str, str], max_tokens: int) -> GivenClient:
        return GivenClient(client, max_tokens)

    def make(name: str, settings: ExecutorSettings, runner: CommandRunner) -> ClientExecutor:
        own = replace(settings, max_tokens=config.default_max_tokens)
        return ClientExecutor(ModelApiExecutor(name, own, runner, connect), config.retryable_errors)

    registry = ExecutorRegistry()
    registry.register(EXECUTOR, make, replaces=True)
    return registry


def _require_cancelled() -> None:
    """Nobody wanted it: the client lost a task of its own, and would be asked again for ever."""
    task = asyncio.current_task()
    if task is None or not task.cancelling():
        raise ModelError(Code.UNKNOWN, "the client was cancelled from within")


def _not_empty(response: ClaudeResponse) -> ClaudeResponse:
    if response.content.strip() or response.uses:
        return response
    empty = ModelError(Code.RESPONSE_EMPTY, "the model answered nothing")
    empty.usage = response.usage
    raise empty


def _failure_of(error: Exception) -> ModelError:
    match error:
        case ExecutionError():
            return ModelError(read_code(error.code), error.message)
        case OstlerError():
            return ModelError(error.code, error.message)
        case ConnectionError():
            return ModelError(Code.NETWORK, f"the connection failed: {error}")
        case _:
            return ModelError(Code.UNKNOWN, f"the client raised {type(error).__name__}: {error}")

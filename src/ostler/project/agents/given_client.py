"""An executor for a client that the caller provides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import get_args

import msgspec
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings, Provider
from ostler.errors import Code, OstlerError, read_code
from ostler.executors.model_api.executor import ModelApiExecutor
from ostler.executors.registry import ExecutorRegistry
from ostler.llm.client import ClaudeClient, ClaudeRequest, ClaudeResponse, StopReason
from ostler.llm.failure import ModelError
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.process.protocol import CommandRunner
from ostler.project.agents.executor_config import EXECUTOR, ExecutorConfig
from ostler.project.running.execution import ExecutionError, ExecutionErrorCode, to_execution_code

_NO_LOGIN = (Code.AUTH_FAILED, Code.BILLING)
# Of an exception of an SDK that a client wrapped: their code is API_ERROR, which is retried.
_FINAL_STATUSES = (400, 401, 402, 403, 404, 405, 413, 422)
_END: StopReason = "end_turn"  # the seed's reading of an unknown reason
_GRACE_SECONDS = 0.25  # so that a client with its own timeout can report the tokens so far


class GivenClient:
    """A client with checks: timeout, no empty answers, no errors other than ModelError."""

    def __init__(self, client: ClaudeClient, max_tokens: int, signal: asyncio.Event) -> None:
        self._client = client
        self._max_tokens = max_tokens
        self._signal = signal

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """Return the client's answer; cancelling it cancels the client."""
        async with _combined_signal(self._signal) as signal:
            asked = replace(request, max_tokens=self._max_tokens, signal=signal)
            return await self._complete(asked)

    async def _complete(self, request: ClaudeRequest) -> ClaudeResponse:
        timer = asyncio.timeout(request.timeout_seconds + _GRACE_SECONDS)
        try:
            async with timer:
                return _require_content(_require_response(await self._client.complete(request)))
        except TimeoutError as error:
            late = f"the answer took longer than {request.timeout_seconds:g} s"
            own = f"the client raised TimeoutError: {error}".removesuffix(": ")
            raise ModelError(Code.TIMEOUT, late if timer.expired() else own) from error
        except asyncio.CancelledError:
            _require_cancelled()
            raise
        except Exception as error:  # noqa: BLE001  (foreign code may raise anything)
            model_error = _to_model_error(error)
            model_error.status = 0  # an execution has the codes of the seed: 5xx is API_ERROR
            raise model_error from error.__cause__


@asynccontextmanager
async def _combined_signal(caller: asyncio.Event) -> AsyncGenerator[asyncio.Event]:
    """Yield an event that is set by the caller's signal, and when the block ends without an answer.

    A client that waits in a thread is not cancelled: the event is all that it notices of a timeout.
    """
    combined = asyncio.Event()
    if caller.is_set():
        combined.set()
    watcher = asyncio.create_task(_forward(caller, combined))
    try:
        yield combined
    except BaseException:
        combined.set()
        raise
    finally:
        watcher.cancel()


async def _forward(caller: asyncio.Event, combined: asyncio.Event) -> None:
    await caller.wait()
    combined.set()


class ClientExecutor:
    """Calls the client; errors that the config does not retry are final."""

    def __init__(self, asks: ModelApiExecutor, retryable: Collection[ExecutionErrorCode]) -> None:
        self._executor = asks
        self._retryable = retryable
        self.name = asks.name
        self.capabilities = replace(asks.capabilities, environment=())

    def validate_availability(self) -> None:
        """The caller is responsible for the client."""

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        return self._set_final(await self._executor.spawn(call, on_event))

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        return self._set_final(await self._executor.resume(call, on_event))

    def _set_final(self, result: CallResult) -> CallResult:
        if result.ok:
            return result
        final = result.final or to_execution_code(result.code) not in self._retryable
        if result.code not in _NO_LOGIN:
            return replace(result, final=final)
        # No person logs in to a client that a program created: the task fails instead of waiting for that.
        return replace(result, code=Code.API_ERROR, final=True)


def create_registry(client: ClaudeClient, config: ExecutorConfig, signal: asyncio.Event) -> ExecutorRegistry:
    """Return a registry in which this client is the model API; setting `signal` aborts its requests."""

    def connect(provider: Provider, env: Mapping[str, str], max_tokens: int) -> GivenClient:
        return GivenClient(client, max_tokens, signal)

    def make(name: str, settings: ExecutorSettings, runner: CommandRunner) -> ClientExecutor:
        own = replace(settings, max_tokens=config.default_max_tokens)
        return ClientExecutor(ModelApiExecutor(name, own, runner, connect), config.retryable_errors)

    registry = ExecutorRegistry()
    registry.register(EXECUTOR, make, replaces=True)
    return registry


def _require_cancelled() -> None:
    """The client cancelled itself; without this the call would be repeated forever."""
    task = asyncio.current_task()
    if task is None or not task.cancelling():
        raise ModelError(Code.UNKNOWN, "the client cancelled itself")


def _require_response(response: object) -> ClaudeResponse:
    """Return the response if its fields have their types, and its text can be written."""
    if not isinstance(response, ClaudeResponse):
        returned = type(response).__name__
        raise ModelError(Code.UNKNOWN, f"the client returned {returned}, expected a ClaudeResponse")
    known = response if response.stop_reason in get_args(StopReason) else replace(response, stop_reason=_END)
    try:
        return msgspec.json.decode(msgspec.json.encode(known), type=ClaudeResponse)
    except (msgspec.ValidationError, TypeError, UnicodeEncodeError) as error:
        raise ModelError(Code.UNKNOWN, f"the client returned an invalid response: {error}") from error


def _require_content(response: ClaudeResponse) -> ClaudeResponse:
    if response.content.strip() or response.uses:
        return response
    empty = ModelError(Code.RESPONSE_EMPTY, "the answer is empty")
    empty.usage = response.usage
    raise empty


def _to_model_error(error: Exception) -> ModelError:
    match error:
        case ModelError():
            return error
        case ExecutionError(cause=ModelError() as cause):
            return cause
        case ExecutionError():
            model_error = ModelError(read_code(error.code), error.message)
            status = getattr(error.cause, "status_code", None)
            model_error.final = model_error.final or status in _FINAL_STATUSES
            return model_error
        case OstlerError():
            return ModelError(error.code, error.message)
        case ConnectionError():
            return ModelError(Code.NETWORK, f"the connection failed: {error}")
        case _:
            return ModelError(Code.UNKNOWN, f"the client raised {type(error).__name__}: {error}")

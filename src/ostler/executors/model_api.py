"""A model API, asked directly: no program and no tools, so that the answer is all there is.

The provider keeps no session; the turns are kept here, beside the transcripts, and are sent again each time.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import closing

import msgspec
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings, Provider
from ostler.errors import AgentUnavailable, Code, OstlerError, Warn
from ostler.executors.ending import result_of
from ostler.executors.protocol import Capabilities
from ostler.executors.session_file import session_file
from ostler.files.atomic import write_projection
from ostler.llm.client import ClaudeClient, ClaudeRequest, ClaudeResponse, Message
from ostler.llm.connect import ACCOUNTS, connect, model_for, read_config
from ostler.llm.failure import ModelError
from ostler.model.call import (
    AgentCall,
    CallResult,
    OnEvent,
    SessionReplaced,
    SessionStarted,
    TextSaid,
    UsageSeen,
)
from ostler.process.protocol import CommandRunner
from ostler.process.transcript import Transcript

Connect = Callable[[Provider, Mapping[str, str], int], ClaudeClient]
Turns = tuple[Message, ...]

# What older models, and servers of one's own, complain of when an answer is asked for by a schema.
_NO_SCHEMA = re.compile(r"output_config|output_format|response_format|json_schema|structured output", re.I)
_SYSTEM = """\
You have no tools here: you cannot run commands, and you cannot read or change files. Your answer is the \
whole result. When a task cannot be done by an answer alone, say that it is blocked and why, instead of \
describing work that did not happen."""


class ModelApiExecutor:
    """Asks a model once per call, within this process; stateless, so that calls may share it."""

    def __init__(
        self, name: str, settings: ExecutorSettings, runner: CommandRunner, connect: Connect = connect
    ) -> None:
        del runner  # nothing is started
        self.name = name
        self._settings = settings
        self._connect = connect
        self._account = ACCOUNTS[settings.provider]
        self.capabilities = Capabilities(
            resumes=True,
            takes_our_id=True,
            reports_usage=True,
            starts_program=False,
            structured_output=True,
            environment=self._account.environment,
        )

    def validate_availability(self) -> None:
        """Raise AgentUnavailable when there is no key."""
        provider = self._settings.provider
        if not read_config(provider, {**os.environ, **self._settings.env}, 1).api_key:
            missing = f"{self.name} has no key for the {provider} API"
            raise AgentUnavailable(missing, f"set {self._account.keys[0]}", Code.AUTH_FAILED)

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Ask the first question; a session that exists already, as after a crash, goes on."""
        before = _read_turns(call)
        if before:
            on_event(SessionReplaced(call.session_id, resumed=True))
        return await self._ask(call, on_event, before, call.prompt)

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Ask the next question; a session of which nothing was kept is begun again."""
        before = _read_turns(call)
        if before:
            return await self._ask(call, on_event, before, call.prompt)
        on_event(SessionReplaced(call.session_id, resumed=False))
        return await self._ask(call, on_event, (), call.fresh_prompt or call.prompt)

    async def _ask(self, call: AgentCall, on_event: OnEvent, before: Turns, prompt: str) -> CallResult:
        begun = time.monotonic()
        try:
            with closing(Transcript(call.transcript)) as transcript:
                result = await self._record(call, on_event, before, prompt, transcript)
        except OstlerError as error:
            result = result_of(error)
        return replace(result, duration_seconds=time.monotonic() - begun)

    async def _record(
        self, call: AgentCall, on_event: OnEvent, before: Turns, prompt: str, transcript: Transcript
    ) -> CallResult:
        try:
            request = self._request(call, before, prompt, transcript)
            on_event(SessionStarted(call.session_id, request.model))
            response = await self._answer(call, request)
        except ModelError as error:
            transcript.write(_line({"type": "failure", "code": error.code, "message": error.message}))
            return _failed(call, error, before, on_event)
        _keep_turns(call, (*request.messages, Message("assistant", response.content)))
        return _succeeded(call, response, on_event)

    async def _answer(self, call: AgentCall, request: ClaudeRequest) -> ClaudeResponse:
        env = {**call.env, **self._settings.env}
        # Loading the SDK takes a second in which other tasks go on.
        client = await asyncio.to_thread(
            self._connect, self._settings.provider, env, self._settings.max_tokens
        )
        try:
            return await client.complete(request)
        except ModelError as error:
            if not request.schema or error.code is not Code.API_ERROR or not _NO_SCHEMA.search(error.message):
                raise
        return await client.complete(replace(request, schema=""))

    def _request(self, call: AgentCall, before: Turns, prompt: str, transcript: Transcript) -> ClaudeRequest:
        return ClaudeRequest(
            system_prompt=_SYSTEM,
            user_message=prompt,
            model=model_for(self._settings.provider, call.model),
            history=before,
            schema=call.schema,
            timeout_seconds=call.timeout_seconds,
            idle_timeout_seconds=call.idle_timeout_seconds,
            on_line=lambda data: transcript.write(data + b"\n"),
        )


def _succeeded(call: AgentCall, response: ClaudeResponse, on_event: OnEvent) -> CallResult:
    on_event(TextSaid(response.content))
    on_event(UsageSeen(response.usage))
    return CallResult(
        None,
        text=response.content,
        session_id=call.session_id,
        model=response.model,
        usage=response.usage,
        warnings=(Warn.RESPONSE_TRUNCATED,) if response.stop_reason == "max_tokens" else (),
    )


def _failed(call: AgentCall, error: ModelError, before: Turns, on_event: OnEvent) -> CallResult:
    """What had come is told, and counted; a session of which nothing was kept has not begun."""
    if error.partial:
        on_event(TextSaid(error.partial))
    if error.usage.total:
        on_event(UsageSeen(error.usage))
    return replace(
        result_of(error),
        session_id=call.session_id if before else "",
        usage=error.usage,
        retry_after_seconds=error.retry_after_seconds,
    )


def _read_turns(call: AgentCall) -> Turns:
    """The session so far; empty when nothing is there, or nothing that can be read."""
    path = session_file(call, "turns")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Turns) if path else ()
    except (FileNotFoundError, msgspec.DecodeError):
        return ()


def _keep_turns(call: AgentCall, turns: Turns) -> None:
    """One that a power cut takes is begun again, and that is said."""
    if path := session_file(call, "turns"):
        write_projection(path, msgspec.json.encode(turns))


def _line(value: dict[str, str]) -> bytes:
    return msgspec.json.encode(value) + b"\n"

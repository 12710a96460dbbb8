"""A model API, asked directly: no program, and nothing is changed, so that the answer is all there is.

With `tools` the model may look at files of the project before it answers; what it saw is not kept.

The provider keeps no session; the turns are kept here, beside the transcripts, and are sent again each time.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings, Provider
from ostler.errors import AgentUnavailable, Code, OstlerError, Warn
from ostler.executors.ending import result_of
from ostler.executors.project_tools import TOOLS, use_tools
from ostler.executors.protocol import Capabilities
from ostler.executors.session_file import session_file
from ostler.executors.tool_loop import Talk, converse
from ostler.files.atomic import write_projection
from ostler.llm.client import ClaudeClient, ClaudeRequest, Message
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
from ostler.model.usage import Usage
from ostler.process.protocol import CommandRunner
from ostler.process.transcript import Transcript

Connect = Callable[[Provider, Mapping[str, str], int], ClaudeClient]
Turns = tuple[Message, ...]

# What older models, and servers of one's own, complain of when an answer is asked for by a schema.
_NO_SCHEMA = re.compile(r"output_config|output_format|response_format|json_schema|structured output", re.I)
_ANSWER = """\
Your answer is the whole result. When a task cannot be done by an answer alone, say that it is blocked and \
why, instead of describing work that did not happen."""
_BLIND = f"""\
You have no tools here: you cannot run commands, and you cannot read or change files. {_ANSWER}"""
_LOOKING = f"""\
You can look at the files of the project with your tools; you cannot change them, and you cannot run \
commands. {_ANSWER}"""


class Kept(Struct, frozen=True, omit_defaults=True):
    """A session as it is kept between calls: its turns, and what there is to know of the last answer."""

    turns: Turns = ()
    key: str = ""  # of the question that was answered last
    model: str = ""
    usage: Usage = Usage()
    warnings: tuple[str, ...] = ()


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
        kept = _read_kept(call)
        if kept.turns:
            on_event(SessionReplaced(call.session_id, resumed=True))
        return await self._ask(call, on_event, kept, call.prompt)

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Ask the next question; a session of which nothing was kept is begun again."""
        kept = _read_kept(call)
        if kept.turns:
            return await self._ask(call, on_event, kept, call.prompt)
        on_event(SessionReplaced(call.session_id, resumed=False))
        return await self._ask(call, on_event, kept, call.fresh_prompt or call.prompt)

    async def _ask(self, call: AgentCall, on_event: OnEvent, kept: Kept, prompt: str) -> CallResult:
        begun = time.monotonic()
        if call.key and kept.key == call.key:
            return _heard_before(call, kept, on_event)
        try:
            with closing(Transcript(call.transcript)) as transcript:
                result = await self._record(call, on_event, kept.turns, prompt, transcript)
        except OstlerError as error:
            result = result_of(error)
        return replace(result, duration_seconds=time.monotonic() - begun)

    async def _record(
        self, call: AgentCall, on_event: OnEvent, before: Turns, prompt: str, transcript: Transcript
    ) -> CallResult:
        try:
            request = self._request(call, before, prompt, transcript)
            on_event(SessionStarted(call.session_id, request.model))
            talk = await self._talk(call, request, on_event)
        except ModelError as error:
            transcript.write(_line({"type": "failure", "code": error.code, "message": error.message}))
            return _failed(call, error, before)
        turns = (*request.messages, Message("assistant", talk.response.content))
        result = _succeeded(call, talk)
        _keep(call, Kept(turns, call.key, result.model, result.usage, result.warnings))
        return result

    async def _talk(self, call: AgentCall, request: ClaudeRequest, on_event: OnEvent) -> Talk:
        env = {**call.env, **self._settings.env}
        # Loading the SDK takes a second in which other tasks go on.
        client = await asyncio.to_thread(
            self._connect, self._settings.provider, env, self._settings.max_tokens
        )
        look = partial(use_tools, Path(call.cwd))
        try:
            return await converse(client, request, look, on_event)
        except ModelError as error:
            if not request.schema or error.code is not Code.API_ERROR or not _NO_SCHEMA.search(error.message):
                raise
        return await converse(client, replace(request, schema=""), look, on_event)

    def _request(self, call: AgentCall, before: Turns, prompt: str, transcript: Transcript) -> ClaudeRequest:
        return ClaudeRequest(
            system_prompt="\n\n".join(filter(None, (call.system.strip(), self._manner))),
            user_message=prompt,
            model=model_for(self._settings.provider, call.model),
            history=before,
            schema=call.schema,
            timeout_seconds=call.timeout_seconds,
            idle_timeout_seconds=call.idle_timeout_seconds,
            on_line=lambda data: transcript.write(data + b"\n"),
            tools=TOOLS if self._settings.tools else (),
        )

    @property
    def _manner(self) -> str:
        return _LOOKING if self._settings.tools else _BLIND


def _succeeded(call: AgentCall, talk: Talk) -> CallResult:
    response = talk.response
    return CallResult(
        None,
        text=response.content,
        session_id=call.session_id,
        model=response.model,
        usage=talk.usage,
        warnings=(Warn.RESPONSE_TRUNCATED,) if response.stop_reason == "max_tokens" else (),
    )


def _failed(call: AgentCall, error: ModelError, before: Turns) -> CallResult:
    """What had come is counted; a session of which nothing was kept has not begun."""
    return replace(
        result_of(error),
        session_id=call.session_id if before else "",
        usage=error.usage,
        retry_after_seconds=error.retry_after_seconds,
    )


def _heard_before(call: AgentCall, kept: Kept, on_event: OnEvent) -> CallResult:
    """The answer that a run which died had got and paid for; the same question is not asked twice."""
    text = kept.turns[-1].text
    on_event(SessionStarted(call.session_id, kept.model))
    on_event(TextSaid(text))
    on_event(UsageSeen(kept.usage))
    return CallResult(
        None,
        text=text,
        session_id=call.session_id,
        model=kept.model,
        usage=kept.usage,
        warnings=kept.warnings,
    )


def _read_kept(call: AgentCall) -> Kept:
    """The session so far; empty when nothing is there, or nothing that can be read."""
    path = session_file(call, "turns")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Kept) if path else Kept()
    except (FileNotFoundError, msgspec.DecodeError):
        return Kept()


def _keep(call: AgentCall, kept: Kept) -> None:
    """One that a power cut takes is begun again, and that is said."""
    if path := session_file(call, "turns"):
        write_projection(path, msgspec.json.encode(kept))


def _line(value: dict[str, str]) -> bytes:
    return msgspec.json.encode(value) + b"\n"

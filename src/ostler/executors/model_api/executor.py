"""Sends prompts to a model API: it starts no program and changes no file, so the answer is the whole result.

With `tools` the model can read files of the project before it answers; the results of tools are not stored.

The provider stores no session: the messages are stored beside the transcripts, and sent again with each
prompt.
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
from ostler.errors import AgentUnavailable, Code, OstlerError, WarningCode
from ostler.executors.call_setup import locate_session_file
from ostler.executors.exit_status import result_from_error
from ostler.executors.failures import HTTP_STATUSES, classify_failure
from ostler.executors.limits.reading import add_limits
from ostler.executors.model_api.project_tools import ToolBox
from ostler.executors.model_api.tool_loop import Completion, complete_with_tools
from ostler.executors.protocol import Capabilities
from ostler.files.atomic import write_projection
from ostler.llm.client import ClaudeClient, ClaudeRequest, Message
from ostler.llm.connect import ACCOUNTS, connect, read_config, resolve_model
from ostler.llm.failure import ModelError
from ostler.model.call import (
    AgentCall,
    CallResult,
    OnEvent,
    SessionReplaced,
    SessionStarted,
    TextReceived,
    UsageReported,
)
from ostler.model.usage import Usage
from ostler.process.protocol import CommandRunner
from ostler.process.transcript import Transcript
from ostler.secrets.redact import redact_bytes

Connect = Callable[[Provider, Mapping[str, str], int], ClaudeClient]
Turns = tuple[Message, ...]

# The errors of older models and self-hosted servers that do not support a schema.
_SCHEMA_UNSUPPORTED = re.compile(
    r"output_config|output_format|response_format|json_schema|structured output", re.I
)
_ANSWER = """\
Your answer is the whole result. When a task cannot be done by an answer alone, say that it is blocked and \
why, instead of describing work that did not happen."""
_WITHOUT_TOOLS = f"""\
You have no tools here: you cannot run commands, and you cannot read or change files. {_ANSWER}"""
_WITH_SKILL = f"""\
You can read the files of the skill with your tool; you cannot read or change other files, and you cannot \
run commands. {_ANSWER}"""
_WITH_TOOLS = f"""\
You can look at the files of the project with your tools; you cannot change them, and you cannot run \
commands. {_ANSWER}"""


class StoredSession(Struct, frozen=True, omit_defaults=True):
    """A session as it is stored between calls: its messages, and the last answer."""

    turns: Turns = ()
    key: str = ""  # of the prompt that was answered last
    model: str = ""
    usage: Usage = Usage()
    warnings: tuple[str, ...] = ()


class ModelApiExecutor:
    """Sends one prompt per call, within this process; it has no state, so calls may share it."""

    def __init__(
        self, name: str, settings: ExecutorSettings, runner: CommandRunner, connect: Connect = connect
    ) -> None:
        # It starts no program.
        del runner
        self.name = name
        self._settings = settings
        self._connect = connect
        self._account = ACCOUNTS[settings.provider]
        self.capabilities = Capabilities(
            resumes=True,
            accepts_session_id=True,
            reports_usage=True,
            starts_program=False,
            changes_files=False,
            structured_output=True,
            environment=self._account.environment,
        )

    def validate_availability(self) -> None:
        """Raise AgentUnavailable when no API key is set."""
        provider = self._settings.provider
        if not read_config(provider, {**os.environ, **self._settings.env}, 1).api_key:
            message = f"{self.name} has no key for the {provider} API"
            raise AgentUnavailable(message, f"set {self._account.keys[0]}", Code.AUTH_FAILED)

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Send the first prompt; continue a session that exists already, as after a crash."""
        session = _load_session(call)
        if session.turns:
            on_event(SessionReplaced(call.session_id, resumed=True))
        return await self._send(call, on_event, session, call.prompt)

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Send the next prompt; with a fresh prompt, start a new session when none is stored."""
        session = _load_session(call)
        if session.turns:
            return await self._send(call, on_event, session, call.prompt)
        if call.fresh_prompt is None:
            return CallResult(Code.SESSION_NOT_FOUND, f"no session with id {call.session_id} is stored")
        prompt = await call.fresh_prompt()
        on_event(SessionReplaced(call.session_id, resumed=False))
        return await self._send(call, on_event, session, prompt)

    async def _send(
        self, call: AgentCall, on_event: OnEvent, session: StoredSession, prompt: str
    ) -> CallResult:
        started = time.monotonic()
        if call.key and session.key == call.key:
            return _stored_answer(call, session, on_event)
        try:
            with closing(Transcript(call.transcript, joins_texts=True)) as transcript:
                result = await self._record(call, on_event, session.turns, prompt, transcript)
        except OstlerError as error:
            result = result_from_error(error)
        return replace(result, duration_seconds=time.monotonic() - started)

    async def _record(
        self, call: AgentCall, on_event: OnEvent, before: Turns, prompt: str, transcript: Transcript
    ) -> CallResult:
        try:
            request = self._request(call, before, prompt, transcript)
            on_event(SessionStarted(call.session_id, request.model))
            completion = await self._complete(call, request, on_event)
        except ModelError as error:
            transcript.write(_line({"type": "failure", "code": error.code, "message": error.message}))
            failed = _failed(call, error, before)
            # The tokens of a failure have the price of its model, too.
            return replace(failed, model=resolve_model(self._settings.provider, call.model))
        turns = (*request.messages, Message("assistant", completion.response.content))
        result = _succeeded(call, completion)
        _store_session(call, StoredSession(turns, call.key, result.model, result.usage, result.warnings))
        return result

    async def _complete(self, call: AgentCall, request: ClaudeRequest, on_event: OnEvent) -> Completion:
        env = {**call.env, **self._settings.env}
        # In a thread, because loading the SDK takes a second.
        client = await asyncio.to_thread(
            self._connect, self._settings.provider, env, self._settings.max_tokens
        )
        run_tools = self._tool_box(call).use
        try:
            return await complete_with_tools(client, request, run_tools, on_event)
        except ModelError as error:
            if (
                not request.schema
                or error.code is not Code.API_ERROR
                or not _SCHEMA_UNSUPPORTED.search(error.message)
            ):
                raise
        return await complete_with_tools(client, replace(request, schema=""), run_tools, on_event)

    def _request(self, call: AgentCall, before: Turns, prompt: str, transcript: Transcript) -> ClaudeRequest:
        return ClaudeRequest(
            system_prompt="\n\n".join(filter(None, (call.system.strip(), self._tool_notice(call)))),
            user_message=prompt,
            model=resolve_model(self._settings.provider, call.model),
            history=before,
            schema=call.schema,
            timeout_seconds=call.timeout_seconds,
            idle_timeout_seconds=call.idle_timeout_seconds,
            on_line=partial(_write_line, transcript),
            tools=self._tool_box(call).tools,
        )

    def _tool_box(self, call: AgentCall) -> ToolBox:
        project = Path(call.cwd) if self._settings.tools else None
        return ToolBox(project, Path(call.skill_directory) if call.skill_directory else None)

    def _tool_notice(self, call: AgentCall) -> str:
        if self._settings.tools:
            return _WITH_TOOLS
        return _WITH_SKILL if call.skill_directory else _WITHOUT_TOOLS


def _succeeded(call: AgentCall, completion: Completion) -> CallResult:
    response = completion.response
    return CallResult(
        None,
        text=response.content,
        session_id=call.session_id,
        model=response.model,
        usage=completion.usage,
        warnings=(WarningCode.RESPONSE_TRUNCATED,) if response.stop_reason == "max_tokens" else (),
        windows=response.windows,
    )


def _failed(call: AgentCall, error: ModelError, before: Turns) -> CallResult:
    """Return the failure with the usage so far; without stored messages there is no session."""
    failed = replace(
        result_from_error(error),
        code=_find_code(error),
        session_id=call.session_id if before else "",
        usage=error.usage,
        final=error.final,
    )
    return add_limits(failed, error.message, error.windows, error.retry_after_seconds, keeps_code=True)


def _find_code(error: ModelError) -> Code:
    """Return the code as for other executors; the clients keep the wider codes of the marketing agents."""
    if error.code is Code.BILLING and classify_failure(error.message) is Code.QUOTA_EXCEEDED:
        return Code.QUOTA_EXCEEDED
    is_wide = error.code in (Code.API_ERROR, Code.TIMEOUT)
    return HTTP_STATUSES.get(error.status, error.code) if is_wide else error.code


def _stored_answer(call: AgentCall, session: StoredSession, on_event: OnEvent) -> CallResult:
    """Return the answer that an interrupted run received; the same prompt is not sent twice."""
    text = session.turns[-1].text
    on_event(SessionStarted(call.session_id, session.model))
    on_event(TextReceived(text))
    on_event(UsageReported(session.usage))
    return CallResult(
        None,
        text=text,
        session_id=call.session_id,
        model=session.model,
        usage=session.usage,
        warnings=session.warnings,
        replayed=True,
    )


def _load_session(call: AgentCall) -> StoredSession:
    """Return the stored session; empty when there is none, or when it cannot be read."""
    path = locate_session_file(call, "turns")
    try:
        return msgspec.json.decode(path.read_bytes(), type=StoredSession) if path else StoredSession()
    except (FileNotFoundError, msgspec.DecodeError):
        return StoredSession()


def _store_session(call: AgentCall, session: StoredSession) -> None:
    # A file that is lost in a power failure leads to a new session, which is reported.
    if path := locate_session_file(call, "turns"):
        write_projection(path, redact_bytes(msgspec.json.encode(session)))


def _write_line(transcript: Transcript, data: bytes) -> None:
    transcript.write(data + b"\n")


def _line(value: dict[str, str]) -> bytes:
    return msgspec.json.encode(value) + b"\n"

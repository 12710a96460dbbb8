"""Sends one prompt to an ACP agent: handshake, session, prompt, permissions, the end of the turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import NamedTuple

from msgspec import Raw, Struct

from ostler.executors.acp import messages
from ostler.executors.acp.evaluate import describe_output, evaluate_conversation
from ostler.executors.acp.tools import PERMISSION_REQUEST, PermissionRequest, is_allowed
from ostler.executors.acp.updates import UpdateReader
from ostler.executors.agent_json import decode_json
from ostler.executors.failures import Rule, classify_failure
from ostler.executors.limits.retries import RetryLines
from ostler.executors.output import read_retry_line
from ostler.executors.stream_state import StreamState
from ostler.model.call import AgentCall, CallResult, OnEvent, Permissions
from ostler.model.command import Exit
from ostler.model.usage import Usage
from ostler.process.protocol import SendInput

_CLIENT_CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}

# What an error response to these requests means, when its own text has no code.
_MEANINGS = {
    "session/load": "session not found",
    "session/resume": "session not found",
    "session/set_config_option": "model not found",
    "session/set_mode": "mode not found",
}


class SessionOptions(Struct, frozen=True):
    """How the session is opened."""

    program: str
    resume: bool
    permissions: Permissions
    modes: tuple[str, ...] = ()  # one of these is set; empty: the default of the agent
    model_in_session: bool = True  # false: the command line names the model
    retry_lines: RetryLines = RetryLines()  # in the error output of the agent
    rules: tuple[Rule, ...] = ()  # of the failures of the agent


class _PendingRequest(NamedTuple):
    method: str
    on_result: Callable[[Raw], None]


class AcpConversation:
    """The client of one conversation: each response leads to the next request, up to an error or the end."""

    def __init__(self, call: AgentCall, on_event: OnEvent, options: SessionOptions) -> None:
        self._call, self._options = call, options
        self._format = describe_output(options.program, options.retry_lines, options.rules)
        self._state = StreamState(call, on_event)
        self._updates = UpdateReader(self._state)
        self._send: SendInput = lambda _: None
        self._pending: dict[bytes, _PendingRequest] = {}
        self._number = 0
        self._agent = messages.InitializeResult()
        self._session_id = ""
        self._prompted = False  # before the prompt, updates are the history of a loaded session
        self._finished = False

    def start(self, send: SendInput) -> None:
        """See Conversation.start."""
        self._send = send
        client = {"name": "ostler", "title": "Ostler", "version": version("ostler")}
        params = {
            "protocolVersion": messages.PROTOCOL_VERSION,
            "clientCapabilities": _CLIENT_CAPABILITIES,
            "clientInfo": client,
        }
        self._request("initialize", params, self._on_initialized)

    def receive_line(self, line: bytes) -> bool:
        """Read one message and respond to it; return True when the conversation has ended."""
        message = decode_json(messages.MESSAGE, line)
        if message is None or not (message.method or bytes(message.id)):
            self._state.skip_line(line)
        elif not message.method:
            self._read_response(message)
        elif bytes(message.id):
            self._respond(message)
        elif message.method == "session/update":
            self._read_update(message.params)
        return self._finished

    def _read_update(self, params: Raw) -> None:
        if self._prompted:
            self._updates.read(params, self._session_id)
        else:
            self._updates.watch_replay(params)

    def prepare_stop(self) -> None:
        """See Conversation.prepare_stop."""
        if self._prompted and not self._finished:
            self._send(messages.encode_notification("session/cancel", {"sessionId": self._session_id}))

    def read_error_line(self, line: bytes) -> None:
        """Read one line of the error output: it may report a retry."""
        read_retry_line(line, self._state, self._format)

    def evaluate(self, exit: Exit) -> CallResult:
        """Return the result of the conversation."""
        self._updates.close()
        self._state.close(exit.long_lines)
        return evaluate_conversation(self._call, self._state, exit, self._format)

    # The requests, in the order in which they are sent.

    def _on_initialized(self, raw: Raw) -> None:
        self._agent = decode_json(messages.INITIALIZE_RESULT, raw) or messages.InitializeResult()
        if self._agent.protocol_version != messages.PROTOCOL_VERSION:
            self._fail(f"protocol version {self._agent.protocol_version} of ACP is not supported")
            return
        if method := self._session_method():
            self._open_session(method)
        else:
            # With a fresh prompt the caller accepts a new session instead.
            meaning = "session not found" if self._call.fresh_prompt is not None else "cannot resume"
            self._fail(f"{meaning}: the agent does not store sessions")

    def _session_method(self) -> str:
        capabilities = self._agent.agent_capabilities
        if not self._options.resume:
            return "session/new"
        if capabilities.session_capabilities.resume is not None:
            return "session/resume"
        return "session/load" if capabilities.load_session else ""

    def _open_session(self, method: str) -> None:
        session = {"sessionId": self._call.session_id} if self._options.resume else {}
        on_result = self._on_session_loaded if method == "session/load" else self._on_session
        self._request(method, {"cwd": _absolute(self._call.cwd), "mcpServers": (), **session}, on_result)

    def _on_session_loaded(self, raw: Raw) -> None:
        # qwen also loads a session that does not exist; one that exists is replayed before the response.
        if self._updates.replayed:
            self._on_session(raw)
        else:
            self._fail("session not found: the agent loaded an empty one")

    def _on_session(self, raw: Raw) -> None:
        session = decode_json(messages.SESSION_RESULT, raw) or messages.SessionResult()
        self._session_id = session.session_id or self._call.session_id
        self._state.start_session(self._session_id, self._model_of(session), self._agent.version)
        self._set_mode(session)

    def _model_of(self, session: messages.SessionResult) -> str:
        """Return the model of the command line, else that of the session."""
        current = session.model.current_value if session.model else ""
        configured = "" if self._options.model_in_session else self._call.model
        return configured or (current if isinstance(current, str) else "")

    def _set_mode(self, session: messages.SessionResult) -> None:
        modes = self._options.modes
        mode = next((mode for mode in modes if mode in session.mode_ids), "")
        if modes and not mode:
            self._fail(f"mode not found: the agent offers none of {', '.join(modes)}")
        elif mode:
            self._session_request("session/set_mode", {"modeId": mode}, lambda _: self._set_model(session))
        else:
            self._set_model(session)

    def _set_model(self, session: messages.SessionResult) -> None:
        model = self._call.model
        if not model or not self._options.model_in_session:
            self._prompt()
        elif session.model is None:
            self._fail(f"model not found: the agent has no setting for the model {model}")
        else:
            option = {"configId": session.model.id, "value": model}
            self._session_request("session/set_config_option", option, lambda _: self._prompt(model))

    def _prompt(self, model: str = "") -> None:
        self._state.model = model or self._state.model
        self._prompted = True
        text = self._call.prompt.encode("utf-8", "replace").decode()
        # Without the empty line the agent would take the prompt for a slash command.
        content = {"type": "text", "text": f"\n{text}" if text.startswith("/") else text}
        self._session_request("session/prompt", {"prompt": (content,)}, self._on_turn_ended)

    def _on_turn_ended(self, raw: Raw) -> None:
        turn = decode_json(messages.PROMPT_RESULT, raw) or messages.PromptResult()
        self._finished = True
        self._add_usage(turn)
        match turn.stop_reason:
            case "end_turn":
                self._state.finish(succeeded=True)
            case "max_tokens":
                self._state.truncated = True
                self._state.finish(succeeded=True)
            case reason:
                self._state.fail(f"the turn ended with {reason or 'no reason'}")

    # How messages are sent and read.

    def _session_request(
        self, method: str, params: Mapping[str, object], on_result: Callable[[Raw], None]
    ) -> None:
        self._request(method, {"sessionId": self._session_id, **params}, on_result)

    def _request(self, method: str, params: Mapping[str, object], on_result: Callable[[Raw], None]) -> None:
        self._number += 1
        self._pending[str(self._number).encode()] = _PendingRequest(method, on_result)
        self._send(messages.encode_request(self._number, method, params))

    def _read_response(self, message: messages.Message) -> None:
        request = self._pending.pop(bytes(message.id).strip(), None)
        if request is None or self._finished:
            return
        if message.error is not None:
            self._read_error(request.method, message.error)
        else:
            request.on_result(message.result)

    def _read_error(self, method: str, error: messages.Error) -> None:
        # qwen 0.15 announces session/resume, but does not have it.
        if (method, error.code) == ("session/resume", messages.METHOD_NOT_FOUND):
            self._open_session("session/load")
            return
        status = error.code if 400 <= error.code < 600 else None
        text = _error_text(error)
        requires_login = error.code == messages.AUTH_REQUIRED
        meaning = "authentication required" if requires_login else _MEANINGS.get(method, "")
        if meaning and classify_failure(text, status) is None:
            text = f"{meaning}: {text}"
        self._fail(text, status)

    def _fail(self, text: str, status: int | None = None) -> None:
        self._finished = True
        self._state.fail(text, status)

    def _respond(self, message: messages.Message) -> None:
        if message.method != "session/request_permission":
            self._send(messages.encode_method_not_found(message.id, message.method))
            return
        request = decode_json(PERMISSION_REQUEST, message.params) or PermissionRequest()
        tool = self._updates.update_tool(request.tool_call)
        self._updates.report_tool(tool)
        allowed = request.can_be_allowed and is_allowed(self._options.permissions, tool, self._call.cwd)
        if not allowed:
            self._state.deny_tool(tool.tool_call_id, tool.detail, tool.name)
        self._send(messages.encode_response(message.id, request.choose(allowed=allowed)))

    def _add_usage(self, turn: messages.PromptResult) -> None:
        used, quota = turn.usage, turn.quota
        if used is not None:
            cached = (used.cached_read_tokens or 0, used.cached_write_tokens or 0)
            self._state.add_usage(Usage(used.input_tokens, used.output_tokens, *cached))
        elif quota.token_count.input_tokens or quota.token_count.output_tokens:
            self._state.add_usage(Usage(quota.token_count.input_tokens, quota.token_count.output_tokens))
        self._state.model = quota.model_usage[0].model if quota.model_usage else self._state.model
        total, before = self._updates.session_cost_usd, self._call.session_cost_usd
        if total:
            self._state.add_cost(total - before if total >= before else total)


def _error_text(error: messages.Error) -> str:
    """Return the message with its details, such as `Internal error: 401 bad key`."""
    data = decode_json(messages.ERROR_DATA, error.data) or messages.ErrorData()
    more = data.details or data.message or data.error or bytes(error.data).decode("utf-8", "replace")
    return f"{error.message}: {more}" if more not in ("", "null", error.message) else error.message


def _absolute(path: str) -> str:
    # As text: a path with bytes that are not UTF-8 cannot be sent as JSON.
    return os.fsencode(os.path.abspath(path)).decode("utf-8", "replace")  # noqa: PTH100
